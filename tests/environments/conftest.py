"""What installs the packages of an environment: tests that depend on it run with each."""

import pytest

from snnbench.environments.packages import uv


def hide_uv(snnbench) -> None:
    """As where a version manager has a shim for uv and no uv."""
    tools = snnbench.folder / "no-uv"
    tools.mkdir()
    (tools / "uv").write_text("#!/bin/sh\nexit 127\n")
    (tools / "uv").chmod(0o755)
    snnbench.environment["PATH"] = f"{tools}:{snnbench.environment['PATH']}"


@pytest.fixture
def without_uv(snnbench):
    hide_uv(snnbench)


@pytest.fixture(params=["pip", "uv"])
def tool(request, snnbench) -> str:
    """The tool that `snnbench env create` takes."""
    if request.param == "pip":
        hide_uv(snnbench)
    elif uv() is None:
        pytest.skip("there is no uv here")
    return request.param
