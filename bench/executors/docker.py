"""Runs workers as containers of a local engine: Docker, or the API of podman."""

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGKILL, Signals
from typing import Any

from docker.errors import APIError, ImageNotFound
from docker.types import DeviceRequest, LogConfig, Mount

from ..common.mistakes import ConfigError
from ..core.fingerprint import files_of
from ..machine.nvml import visible_devices
from .docker_engine import FAILURES, OWNER, Engine, in_short
from .executor import CannotStart, Ending, Output, OwnEnvironment, readable_after
from .local import oom_kills

ENVIRONMENTS = "/opt/environments"
"""The folder of environments in the image."""
NOT_FOUND = 127
"""Exit code of a container if its program is not in its image."""


@dataclass(frozen=True)
class Image:
    """A container image: the user's name for it, the engine's digest and its PATH."""

    name: str
    digest: str
    path: str


@dataclass(frozen=True)
class DockerExecutor:
    """Starts each worker in its own container, on `cores`, with at most `pids` processes.

    `reads` are the files and folders of the user's adapters, with the same paths inside and
    outside. With `gpus` workers see the GPUs, except those of CPU cases.
    """

    engine: Engine
    image: Image
    cores: tuple[int, ...]
    pids: int
    reads: tuple[Path, ...] = ()
    gpus: bool = False
    python: str = "python"
    parent_pid: None = None

    def start(
        self, arguments: list[str], variables: dict[str, str], writes: list[Path], memory_bytes: int
    ) -> "DockerWorker":
        try:
            container = self._container(arguments, variables, writes, memory_bytes)
            try:
                return DockerWorker(container, f"image {self.image.name} has no {self.python}")
            except FAILURES:
                remove(container)
                raise
        except FAILURES as error:
            raise CannotStart(f"the container engine failed: {in_short(error)}") from None

    def _container(
        self, arguments: list[str], variables: dict[str, str], writes: list[Path], memory_bytes: int
    ) -> Any:
        """Creates a container that may write to the folders `writes`."""
        mounts = [Mount(str(folder), str(folder), "bind", read_only=False) for folder in writes]
        mounts += [Mount(str(path), str(path), "bind", read_only=True) for path in self.reads]
        sees_gpus = self.gpus and variables.get("CUDA_VISIBLE_DEVICES") != ""
        programs = os.path.dirname(self.python)
        search_path = {"PATH": f"{programs}:{self.image.path}"} if programs else {}
        return self.engine.client.containers.create(
            self.image.digest,
            arguments,
            entrypoint=[self.python],
            environment={**search_path, **variables},
            user=f"{os.getuid()}:{os.getgid()}",  # the owner of the mounted folders
            labels={OWNER: self.engine.owner},
            mounts=mounts,
            init=True,
            read_only=True,
            tmpfs={"/tmp": "exec,mode=1777"},
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", "label=disable"],
            mem_limit=memory_bytes,
            memswap_limit=memory_bytes,
            cpuset_cpus=",".join(map(str, self.cores)),
            pids_limit=self.pids,
            log_config=LogConfig(type="none"),  # the output is read as it comes
            device_requests=[_gpu_request()] if sees_gpus else None,
        )

    def facts(self) -> dict[str, Any]:
        return {"image": {"name": self.image.name, "digest": self.image.digest}}

    def inherited(self) -> dict[str, str]:
        return {}

    def advice(self, environment: OwnEnvironment) -> str:
        if environment.image:
            adapters = ", ".join(environment.adapters)
            return f"the image must hold {adapters} and this version of snnbench"
        return f"build the image {self.image.name} with --build-arg ENVIRONMENTS={environment.name}"

    def inside(self, environment: OwnEnvironment) -> "DockerExecutor":
        """Uses the image that the recipe names, else the environment of that name in this image."""
        if not environment.image:
            return replace(self, python=f"{ENVIRONMENTS}/{environment.name}/bin/python")
        try:
            return replace(self, image=find_image(self.engine, environment.image), python="python")
        except ConfigError as error:
            raise CannotStart(str(error)) from None


def docker_executor(
    image: str, cores: list[int], pids: int, adapters: list[str], gpus: bool
) -> DockerExecutor:
    """The executor for `adapters` of the user (`path.py:Class`).

    Raises ConfigError if no engine answers or it has no such image.
    """
    engine = Engine()
    reads = sorted({path for reference in adapters for path in sources_of(reference)})
    return DockerExecutor(engine, find_image(engine, image), tuple(cores), pids, tuple(reads), gpus)


def sources_of(reference: str) -> set[Path]:
    """Files and packages that the adapter `path.py:Class` imports from its folder."""
    source = Path(reference.rpartition(":")[0])
    if source.suffix != ".py":
        return set()
    beside = [
        path.relative_to(source.parent)
        for path in files_of(reference)
        if path.is_relative_to(source.parent)
    ]
    return {source, *(source.parent / path.parts[0] for path in beside)}


def _gpu_request() -> DeviceRequest:
    """Requests all GPUs, or those of CUDA_VISIBLE_DEVICES; the container numbers them from 0."""
    names = visible_devices()
    which = {"count": -1} if names is None else {"device_ids": names}
    return DeviceRequest(capabilities=[["gpu"]], **which)


class DockerWorker:
    """A running container. Waiting for its end uses no core."""

    def __init__(self, container: Any, lacking: str):
        """`lacking` is the reason if the image does not hold the program."""
        self.container, self.lacking = container, lacking
        self.oom_kills_before, self.output = oom_kills(), Output()
        self.reader = threading.Thread(
            target=self._read, args=(container.attach(stream=True),), daemon=True
        )
        self.reader.start()
        container.start()
        self.ended = readable_after(self._wait)

    def _read(self, pieces: Iterable[bytes]) -> None:
        with suppress(*FAILURES, OSError, ValueError):
            self.output.read(pieces)

    def _wait(self) -> None:
        with suppress(*FAILURES):  # the engine is gone; `end` reports it
            self.container.wait(timeout=None)

    def fileno(self) -> int:
        return self.ended

    def enforce_memory_limit(self) -> None:
        """Does nothing: the limit of the container counts all memory."""

    def end(self, timed_out: bool = False) -> Ending:
        try:
            self.container.reload()
            if self.container.status == "running":
                with suppress(APIError):  # it has ended meanwhile
                    self.container.kill()
                self.container.wait()
                self.container.reload()
            self.reader.join(10)
            ending = ending_of(
                self.container.attrs["State"], timed_out, oom_kills() > self.oom_kills_before
            )
        except FAILURES as error:
            raise CannotStart(f"the container engine failed: {in_short(error)}") from None
        finally:
            os.close(self.ended)
            remove(self.container)
        if ending.exit_code == NOT_FOUND:
            raise CannotStart(self.lacking)
        return ending


def remove(container: Any) -> None:
    with suppress(*FAILURES):  # the engine is gone: the next start removes the container
        container.remove(force=True, v=True)


def ending_of(state: dict[str, Any], timed_out: bool, kernel_killed: bool) -> Ending:
    """Converts the engine's state of a container; `kernel_killed`: some process was killed."""
    code = state["ExitCode"]
    number = code - 128 if code - 128 in [signal.value for signal in Signals] else None
    # podman's API does not always say that memory ran out; the kernel does.
    ran_out = bool(state.get("OOMKilled")) or (number == SIGKILL and kernel_killed)
    return Ending(None if number else code, number, timed_out, ran_out and not timed_out)


def find_image(engine: Engine, name: str) -> Image:
    """Returns the engine's image `name`; raises ConfigError, with the command that builds it."""
    try:
        image = engine.client.images.get(name)
    except ImageNotFound:
        advice = f"the container engine has no such image: docker build -t {name} ."
        raise ConfigError(f"container.image = {name!r}: {advice}") from None
    except FAILURES as error:
        raise ConfigError(f"container.image = {name!r}: {in_short(error)}") from None
    variables = dict(entry.partition("=")[::2] for entry in image.attrs["Config"].get("Env") or [])
    return Image(name, image.id, variables.get("PATH", "/usr/local/bin:/usr/bin:/bin"))
