"""Before all tests: few threads, signals as a terminal sends them. For many tests: the command
line in a temporary folder."""

import os

# Before anything imports NumPy or torch: test processes share few cores, and threads that wait for
# each other cost minutes.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# As in a worker: a precompiled header takes longer than all that a test compiles.
os.environ |= {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
}

import gc
import shutil
import signal

import pytest
from hypothesis import settings
from support.command_line import Snnbench, answers_remembered, helpers_remembered
from support.trees import unbundled

# What a shell starts in the background ignores Ctrl-C, and so would the commands that tests
# interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example may take long where other tests have the cores.
settings.register_profile("shared cores", deadline=None)
settings.load_profile("shared cores")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def pytest_collection_finish():
    """Leaves what is imported and collected by now out of garbage collections: each would take
    0.3 s, and every timed slot begins with one."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def remembered():
    """Commands and calls of the API share what their workers answer and compute."""
    with answers_remembered(), helpers_remembered():
        yield


@pytest.fixture
def snnbench(tmp_path) -> Snnbench:
    return Snnbench(tmp_path)


@pytest.fixture(scope="module")
def snnbench_module(tmp_path_factory) -> Snnbench:
    """For a run that the tests of one file look at together."""
    return Snnbench(tmp_path_factory.mktemp("snnbench"))


@pytest.fixture(scope="session")
def quickstart_folder(tmp_path_factory):
    """The committed quickstart set as a result folder, for tests that only read it."""
    return unbundled("quickstart", tmp_path_factory.mktemp("committed") / "quickstart")


@pytest.fixture
def driver():
    """Triton compiles as for a GPU that is not there."""
    from support.gpuless import compiling_only

    with compiling_only():
        yield


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None and not os.environ.get("SNNBENCH_NEEDS_BROWSER"):
        pytest.skip(
            "there is no chromium here (apt-get install chromium): the report is not looked at"
        )
    assert CHROMIUM, "SNNBENCH_NEEDS_BROWSER is set, and there is no chromium"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()
