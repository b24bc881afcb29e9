"""Whether each thing that needs a GPU runs at all, in processes of their own: what one of them
breaks the others do not see."""

import pytest
import torch
from support.apart import run_apart

HEAD = """
import torch
from snnbench.kernels import LinearLIF
from snnbench.kernels.lif import lif
torch.manual_seed(0)

def normal(*shape):
    return torch.randn(*shape, device="cuda")
"""

CHECKS = {
    "a driver answers cuda-core": """
from cuda.core import Device
device = Device(0)
device.set_current()
print(device.name, device.compute_capability)
""",
    "products of bf16 in float32, also in place": """
import torch
left, right = (torch.randn(128, 256, device="cuda").bfloat16() for _ in range(2))
exact, once = left.double() @ right.double().t(), torch.full((128, 128), torch.nan, device="cuda")
torch.mm(left, right.t(), out_dtype=torch.float32, out=once)
twice = once.clone()
torch.addmm(twice, left, right.t(), out_dtype=torch.float32, out=twice)
assert (once - exact).norm() < 1e-5 * exact.norm() and (twice - 2 * exact).norm() < 1e-5 * exact.norm()
""",
    "packed frames are delivered by Triton, with one-hot products on tensor cores": """
import torch
from snnbench.kernels import PackedFrames
frames = [torch.poisson(torch.full((time, 100), 0.5)) for time in (211, 250, 199)]
chosen, shift = torch.tensor([2, 0, 1]), torch.tensor([0, 3, -5])
wanted = PackedFrames(frames, 250).batch(chosen, shift)
kept = PackedFrames(frames, 250).to("cuda")
for _ in range(3):
    got = kept.batch(chosen.cuda(), shift.cuda(), backend="triton")
    assert torch.equal(got.cpu(), wanted)
""",
    "kernels follow torch's stream": HEAD
    + """
y, stream = normal(100, 16, 512), torch.cuda.Stream()
for backend in ("triton", "cuda"):
    wanted = lif(y, backend=backend).spikes
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        got = lif(y * 1.0, backend=backend).spikes
    stream.synchronize()
    assert torch.equal(got, wanted), backend
""",
    "a layer is compiled by torch": HEAD
    + """
layer, y = LinearLIF(64, 64).to("cuda"), normal(40, 4, 64)
assert (layer(y) != torch.compile(layer)(y)).float().mean() < 0.01
""",
    "the queue of the device tells seconds without the host's": """
import torch
from functools import partial
from snnbench.core.cuda_queue import CudaQueue
from snnbench.measure.ceilings import best_queued
queue = CudaQueue(torch.device("cuda"))
small, large = torch.zeros(1 << 18, device="cuda"), torch.zeros(1 << 28, device="cuda")
once, most = (best_queued(queue, [partial(torch.empty_like(one).copy_, one)], 5) for one in (small, large))
assert queue.cache_bytes > 1 << 20 and once < 20e-6 < most < 1, (queue.cache_bytes, once, most)
first = queue.mark()
queue.hold(1 << 28)
last = queue.mark()
assert not queue.reached(last)
queue.wait()
assert queue.reached(last) and queue.seconds(first, last) > 0.05, "a hold is shorter than asking may take"
""",
    "JAX sees the device and plans its memory": """
import jax, jax.numpy as jnp
assert jax.devices()[0].platform == "gpu", jax.devices()
assert jax.devices()[0].memory_stats()["bytes_in_use"] >= 0
plan = jax.jit(jnp.matmul).lower(jnp.ones((512, 512)), jnp.ones((512, 512))).compile().memory_analysis()
assert plan.output_size_in_bytes == 4 << 18
""",
    "a worker in the sandbox proves a network": """
import sys
from snnbench.cli import main
sys.argv = ["snnbench", "check", "torch", "fused", "--device", "cuda", "--neuron", "soft"]
main()
""",
    "CUDA graphs are captured and replayed": """
import sys
from snnbench.cli import main
sys.argv = ["snnbench", "check", "torch:graph", "fused:graph", "--device", "cuda", "--neuron", "soft"]
main()
""",
}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("check", CHECKS)
def test_it_runs(check):
    run_apart(CHECKS[check])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise SystemExit('no device')", "no device"),
        ("1 / 0", "ZeroDivisionError"),
        ("while True: pass", "1 s were not enough"),
    ],
)
def test_what_fails_or_hangs_is_told(code, words):
    with pytest.raises(AssertionError, match=words):
        run_apart(code, seconds=1 if "while" in code else 60)


@pytest.mark.parametrize("check", CHECKS)
def test_what_only_a_gpu_runs_is_at_least_python(check):
    compile(CHECKS[check], check, "exec")
