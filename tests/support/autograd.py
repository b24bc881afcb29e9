"""The networks of the proof in torch, float64: written independently of the oracle, so that
autograd can judge it."""

import numpy as np
import torch

from snnbench.proof.layers import LAYERS

SLOPES = {
    "superspike": lambda u, k: (1 + k * u.abs()).pow(-2),
    "atan": lambda u, k: 1 / (1 + (torch.pi * k * u).square()),
    "sigmoid": lambda u, k: k * torch.sigmoid(k * u) * torch.sigmoid(-k * u),
    "triangle": lambda u, k: torch.relu(1 - k * u.abs()),
    "rectangle": lambda u, k: k * (u.abs() < 1 / (2 * k)).to(u.dtype),
    "exponential": lambda u, k: k / 2 * (-k * u.abs()).exp(),
    "straight-through": lambda u, k: torch.ones_like(u),
}


def loop(spec, currents, recurrent=None, potentials=False):
    """The recurrence in torch. A straight line through v with slope σ' stands for the spike, so
    autograd does the rest."""
    after, spikes, membrane = torch.zeros_like(currents[0]), [], []
    for current in currents:
        v = spec.decay * after + current
        if recurrent is not None and spikes:
            v = v + spikes[-1] @ recurrent.T
        fixed = v.detach()
        count = torch.floor(fixed / spec.threshold).clamp(0, spec.max_spikes)
        s = count + SLOPES[spec.surrogate](fixed - spec.threshold, spec.slope) * (v - fixed)
        if spec.rounding is not None:
            exact = (v / spec.threshold).clamp(0, spec.max_spikes)
            s = exact + (exact.round() - exact).detach()
        spikes.append(s)
        membrane.append(v)
        s = s.detach() if spec.detach_reset else s
        after = {
            "soft": lambda: v - spec.threshold * s,
            "hard": lambda: v * (1 - s),
            "none": lambda: v,
            "soft-undecayed": lambda: v - spec.threshold / spec.decay * s,
            "hard-straight": lambda: v - fixed * s,
        }[spec.reset]()
    return torch.stack(membrane if potentials else spikes)


def integrator(options, x):
    v, values = torch.zeros_like(x[0]), []
    for current in x:
        v = options["decay"] * v + (1 - options["decay"] if options["normal"] else 1) * current
        values.append(v)
    return torch.stack(values)


def product(options, left, right):
    first = "bchji" if options["left"] else "bchij"
    second = "bchkj" if options["right"] else "bchjk"
    return options["scale"] * torch.einsum(f"{first},{second}->bchik", left, right)


def mix_time(options, own, x):
    """A product over time, or a sum of steps that are shifted."""
    if options["sliding"]:
        late = [torch.cat([torch.zeros_like(x[:i]), x[: len(x) - i]]) for i in range(len(x))]
        taps = own["weight"].flip(0)[: len(x)]
        return own["bias"] + sum(tap * late[i] for i, tap in enumerate(taps))
    weight = own["weight"]
    if options["order"]:
        weight = weight.tril().triu(1 - options["order"])
    return torch.einsum("ts,s...->t...", weight, x) + own["bias"].view(-1, *(1,) * (x.ndim - 1))


def delayed(options, own, x):
    """Sums every input by itself, delay by delay."""
    steps = torch.arange(options["most"], dtype=x.dtype)
    spread = torch.exp(-0.5 * ((steps - own["delay"][..., None]) / options["sigma"]) ** 2)
    kernel = own["weight"][..., None] * spread / (spread.sum(-1, keepdim=True) + 1e-7)
    value = 0
    for d in range(min(options["most"], len(x))):
        late = torch.cat([torch.zeros_like(x[:d]), x[: len(x) - d]])
        value = value + torch.einsum("tbi,oi->tbo", late, kernel[..., d])
    return value


WHOLE = {
    "add": lambda options, left, right: left + right,
    "multiply": lambda options, left, right: left * right,
    "product": product,
    "sum": lambda options, x: x.sum(2 + options["axis"], keepdim=True),
    "reshape": lambda options, x: x.reshape(*x.shape[:2], *options["shape"]),
    "integrator": integrator,
    "mean_time": lambda options, x: x.mean(0, keepdim=True),
    "max_time": lambda options, x: x.max(0, keepdim=True).values,
    "softmax_sum": lambda options, x: x.softmax(-1).sum(0, keepdim=True),
    "last_time": lambda options, x: x[-1:],
    "vote": lambda options, x: torch.stack(x.split(options["group"], -1), -1).mean(-2),
}


def value_of(network, parameters, x):
    """The value of a network's last node; `parameters` are float64 tensors by node and name, x
    is (T, B, *features)."""
    functional, values = torch.nn.functional, {"input": x}
    for node in network.nodes:
        own, options, before = parameters.get(node.name, {}), node.options, values[node.inputs[0]]
        rows = before.flatten(0, 1)
        if node.kind == "neuron":
            values[node.name] = loop(
                options["neuron"], before, own.get("recurrent"), options["potentials"]
            )
            continue
        if node.kind == "mix_time":
            values[node.name] = mix_time(options, own, before)
            continue
        if node.kind == "delayed":
            values[node.name] = delayed(options, own, before)
            continue
        if node.kind in WHOLE:
            values[node.name] = WHOLE[node.kind](options, *(values[name] for name in node.inputs))
            continue
        window = [options.get(name) for name in ("kernel", "stride", "padding")]
        value = {
            "linear": lambda rows=rows, own=own: functional.linear(
                rows, own["weight"], own.get("bias")
            ),
            "conv": lambda rows=rows, own=own, w=window, o=options: functional.conv2d(
                rows, own["weight"], own.get("bias"), w[1], w[2], groups=o["groups"]
            ),
            "norm": lambda rows=rows, own=own, o=options: functional.batch_norm(
                rows, None, None, own["weight"], own["bias"], training=True, eps=o["epsilon"]
            ),
            "max_pool": lambda rows=rows, w=window: functional.max_pool2d(rows, *w),
            "avg_pool": lambda rows=rows, w=window: functional.avg_pool2d(rows, *w),
            "flatten": lambda rows=rows: rows.flatten(1),
        }[node.kind]()
        values[node.name] = value.unflatten(0, before.shape[:2])
    return values[network.output.name]


def assert_gradients(node, computed, own, x, upstream):
    """Asserts that the oracle's layer of a node has the value of `computed`, and its gradients by
    the parameters `own` and by x."""
    value, pull = LAYERS[node.kind](node.options, own, x)
    by_parameter, by_x = pull(upstream)
    leaves = {key: torch.tensor(array, requires_grad=True) for key, array in own.items()}
    leaf = torch.tensor(x, requires_grad=True)
    right = computed(node.options, leaves, leaf)
    right.backward(torch.tensor(upstream))
    assert np.allclose(value, right.detach().numpy())
    assert np.allclose(by_x, leaf.grad.numpy())
    assert by_parameter.keys() == leaves.keys()
    for key, array in by_parameter.items():
        assert np.allclose(array, leaves[key].grad.numpy())
