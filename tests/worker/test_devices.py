"""Which devices there are, by a driver of our own that answers as NVIDIA's does: with no device
if all are hidden."""

import json
import shutil
import subprocess

import pytest

DRIVER = """
#include <stdlib.h>
int cuInit(unsigned flags) { const char *seen = getenv("CUDA_VISIBLE_DEVICES"); return seen && !*seen ? 100 : 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_cuda_device_is_seen(snnbench):
    source = snnbench.folder / "driver.c"
    source.write_text(DRIVER)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", snnbench.folder / "libcuda.so.1", source], check=True
    )
    snnbench.environment["LD_LIBRARY_PATH"] = str(snnbench.folder)
    assert json.loads(snnbench("doctor", "--json").stdout)["environment"]["devices"] == [
        "cpu",
        "cuda",
    ]
    snnbench.environment["CUDA_VISIBLE_DEVICES"] = ""
    assert json.loads(snnbench("doctor", "--json").stdout)["environment"]["devices"] == ["cpu"]
