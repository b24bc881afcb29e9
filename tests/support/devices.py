"""What devices of JAX compute together, beside one of them, in a process of its own that has so
many devices."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
from support.networks import network_of
from support.paths import ROOT
from support.proofs import problem_of

from snnbench.adapters import registry
from snnbench.core.case import Case


def apart(case, counts, double):
    """By number of devices: relative L2 errors by name of a forward, a backward, an inference
    and a step of `case` against one device, and `kept`, the bytes that a device keeps for
    backward over those of one alone. `double`: all in float64."""
    given = json.dumps({"case": case.as_dict(), "counts": counts, "double": double})
    devices = {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={max(counts)}",
        "JAX_PLATFORMS": "cpu",
    }
    environment = {**os.environ, **devices, "PYTHONPATH": "tests"}
    command = [sys.executable, "-m", "support.devices", given]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {int(count): errors for count, errors in json.loads(done.stdout).items()}


def found(case):
    """Arrays by name, and the bytes of what is kept for backward."""
    adapter, problem = registry.load(registry.FRAMEWORKS[case.framework]), problem_of(case)
    adapter.prepare(case, 1)
    program = adapter.program(case, network_of(case))
    program.load(problem.parameters)
    x = program.put_input(problem.input)
    result = program.forward(x)
    kept = sum(leaf.nbytes for leaf in result.residuals)
    upstream = program.put_upstream(problem.upstream, result)
    back, inferred = program.backward(result, upstream), program.inference(x)
    stepped = program.step(x, upstream)
    named = {
        "output": back.output,
        "inferred": inferred.output,
        "loss": back.loss,
        "input": back.input_gradient,
    }
    named |= {f"spikes of {name}": spikes for name, spikes in back.borders.items()}
    for kind, tree in (
        ("gradient", back.gradients),
        ("updated", stepped.updated),
        ("running", stepped.running),
    ):
        named |= {
            f"{kind} of {node}.{name}": array
            for node, own in tree.items()
            for name, array in own.items()
        }
    return {
        name: np.asarray(array, np.float64) for name, array in named.items() if array is not None
    }, kept


def main(given):
    import jax

    from snnbench.adapters.base import jax_program

    if given["double"]:
        jax.config.update("jax_enable_x64", True)
        jax_program.DTYPES["fp32"] = jax.numpy.float64
    case = Case.from_dict(given["case"])
    right, whole = found(replace(case, ranks=None, parallel=None))
    answer = {}
    for count in given["counts"]:
        own, kept = found(replace(case, ranks=count))
        answer[count] = {
            name: float(np.linalg.norm(own[name] - right[name]) / np.linalg.norm(right[name]))
            for name in right
        }
        answer[count]["kept"] = kept / count / whole
    print(json.dumps(answer))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
