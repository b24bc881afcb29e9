"""Workers as containers of a local engine (Docker, or podman's API): without network, read-only, limited, always removed."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGKILL, Signals

from docker.errors import DockerException, ImageNotFound
from docker.types import DeviceRequest, LogConfig, Mount
from requests.exceptions import RequestException

from ..cores import usable_cores
from ..experiment.config import Experiment
from ..mistakes import ConfigError
from .docker_engine import OWNER, Engine
from .executor import CannotStart, Ending
from .local import kernel_kills

ENVIRONMENTS = "/opt/environments"
"""Where our Dockerfile makes them."""
NOT_FOUND = 127
"""Exit code of a container whose program is not in its image."""
FAILURES = (DockerException, RequestException)


@dataclass(frozen=True)
class Image:
    """A name as the user gave it, the digest that the engine knows it by, and its PATH."""

    name: str
    digest: str
    path: str


@dataclass(frozen=True)
class DockerExecutor:
    """The executor `docker`: each worker in a container of its own, on `cores`, with `pids` processes at most.

    `reads` are folders of the user's adapter files. Folders have the same names inside and outside. `gpus`: whether workers
    that may see GPUs are given them; the engine refuses where it cannot.
    """

    engine: Engine
    image: Image
    cores: tuple[int, ...]
    pids: int
    reads: tuple[Path, ...] = ()
    gpus: bool = False
    python: str = "python"
    parent: None = None

    def run(self, arguments, variables, scratch, shared, timeout, memory_bytes) -> Ending:
        try:
            with self._container(arguments, variables, [scratch, *shared], memory_bytes) as container:
                ending = _ended(container, scratch / "output", timeout)
        except FAILURES as error:
            raise CannotStart(f"the container engine failed: {_said(error)}") from None
        if ending.exit_code == NOT_FOUND:
            raise CannotStart(f"image {self.image.name} has no {self.python}")
        return ending

    @contextmanager
    def _container(self, arguments, variables, writes, memory_bytes) -> Iterator:
        """Made, and removed whatever happens."""
        mounts = [Mount(str(folder), str(folder), "bind", read_only=False) for folder in writes]
        mounts += [Mount(str(folder), str(folder), "bind", read_only=True) for folder in self.reads]
        sees_gpus = self.gpus and variables.get("CUDA_VISIBLE_DEVICES") != ""
        container = self.engine.client.containers.create(
            self.image.digest,
            arguments,
            entrypoint=[self.python],
            environment={**self._of_python(), **variables},
            user=f"{os.getuid()}:{os.getgid()}",  # who owns the mounted folders
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
            log_config=LogConfig(type="none"),  # what it says is read as it comes, and kept nowhere else
            device_requests=[DeviceRequest(count=-1, capabilities=[["gpu"]])] if sees_gpus else None,
        )
        try:
            yield container
        finally:
            with suppress(*FAILURES):  # then the engine is gone, and the next start finds the container
                container.remove(force=True, v=True)

    def _of_python(self) -> dict[str, str]:
        """The programs of another environment come first in its workers."""
        folder = os.path.dirname(self.python)
        return {"PATH": f"{folder}:{self.image.path}"} if folder else {}

    def facts(self) -> dict:
        return {"image": {"name": self.image.name, "digest": self.image.digest}}

    def inherited(self) -> dict[str, str]:
        return {}

    def advice(self, environment) -> str:
        if environment.recipe.image:
            return f"the image must hold {', '.join(environment.recipe.adapters)} and this version of snnbench"
        return f"build the image {self.image.name} with --build-arg ENVIRONMENTS={environment.name}"

    def at_home(self, environment) -> tuple["DockerExecutor | None", str | None]:
        """In the image that the environment names, else in the environment of that name inside our image."""
        if not environment.recipe.image:
            return replace(self, python=f"{ENVIRONMENTS}/{environment.name}/bin/python"), None
        try:
            return replace(self, image=find_image(self.engine, environment.recipe.image), python="python"), None
        except ConfigError as error:
            return None, str(error)


def docker_executor(experiment: Experiment, files: list[str], gpus: bool) -> DockerExecutor:
    """For an experiment with adapters in `files`; `gpus` says whether this machine has any. Raises ConfigError."""
    engine = Engine()
    wanted = any(device.startswith("cuda") for device in experiment.grid.device) if experiment.grid.device else gpus
    sources = (Path(reference.rpartition(":")[0]) for reference in files)
    return DockerExecutor(
        engine,
        find_image(engine, experiment.container.image),
        cores=tuple(usable_cores()[: experiment.measure.threads or None]),
        pids=experiment.container.pids,
        reads=tuple(dict.fromkeys(source.parent for source in sources if source.suffix == ".py")),
        gpus=wanted,
    )


def _ended(container, output: Path, timeout: float) -> Ending:
    """Start a container and wait for its end without using the cores that it measures on."""
    killed_before = kernel_kills()
    said = container.attach(stream=True)
    with open(output, "wb", buffering=0) as stream:
        reader = threading.Thread(target=_copy, args=(said, stream), daemon=True)
        reader.start()
        start = time.monotonic()
        try:
            container.start()
            timed_out = not _ends_within(container, timeout, start)
            if timed_out:
                container.kill()
                container.wait()
        finally:
            reader.join(10)
    container.reload()
    return ending_of(container.attrs["State"], timed_out, kernel_kills() > killed_before)


def ending_of(state: dict, timed_out: bool, kernel_killed: bool) -> Ending:
    """From what the engine says of a container that has ended, and whether the kernel killed anything meanwhile."""
    code = state["ExitCode"]
    number = code - 128 if code - 128 in [signal.value for signal in Signals] else None
    # podman's API does not always tell of memory; the kernel does.
    ran_out = bool(state.get("OOMKilled")) or (number == SIGKILL and kernel_killed)
    return Ending(None if number else code, number, timed_out, ran_out and not timed_out)


def _copy(said, stream) -> None:
    with suppress(*FAILURES, OSError, ValueError):
        for piece in said:
            stream.write(piece)


def _ends_within(container, timeout: float, start: float) -> bool:
    try:
        container.wait(timeout=timeout)
        return True
    except RequestException:  # requests says that it read nothing for so long, or that the engine went away
        if time.monotonic() - start < timeout:
            raise
        return False


def _said(error: Exception) -> str:
    return " ".join(str(getattr(error, "explanation", None) or error).split())


def find_image(engine: Engine, name: str) -> Image:
    """Raises ConfigError with the command that makes the image."""
    try:
        found = engine.client.images.get(name)
    except ImageNotFound:
        raise ConfigError(
            f"container.image = {name!r}: the container engine has no such image: docker build -t {name} ."
        ) from None
    except FAILURES as error:
        raise ConfigError(f"container.image = {name!r}: {_said(error)}") from None
    variables = dict(entry.partition("=")[::2] for entry in found.attrs["Config"].get("Env") or [])
    return Image(name, found.id, variables.get("PATH", "/usr/local/bin:/usr/bin:/bin"))
