"""Networks that train on delivered batches, by the case's `recipe`."""

from dataclasses import replace
from typing import Any

from snnbench.kernels.spec import NeuronSpec

from ..core.case import Case
from ..core.datasets import form_of
from ..core.variant import VariantPattern
from . import perceptrons, resnet

INTEGRATE = NeuronSpec("soft", decay=1.0, surrogate="exponential", slope=2.0)
"""Lenz's neuron, with one spike a step: no leak, and a surrogate with a width of half a
threshold."""
MANY = 1 << 16
"""Spikes that Lenz's own neuron may fire in a step."""
FUSION = NeuronSpec("hard", decay=0.2, threshold=0.3, surrogate="rectangle")
"""Li et al.'s neuron. Its surrogate is unpublished."""

FIELDS: dict[str, dict[str, Any]] = {
    "steps": {"neuron": INTEGRATE, "loss": "cross-entropy"},
    # The comparison does not update. Its steps are judged with Adam, and not timed: plain descent
    # diverges on this loss.
    "lenz": {
        "neuron": replace(INTEGRATE, max_spikes=MANY),
        "loss": "sum",
        "optimizer": "adam",
    },
    "li": {
        "workload": resnet.spiking_resnet18.name,
        "neuron": FUSION,
        "width": 64,
        "input": "events",
        "loss": "cross-entropy",
        "optimizer": "adam",
    },
}
"""Fields of the network's case by recipe; of `frames-mlp` unless they name another workload."""
UPDATES = {"steps", "li"}
"""Recipes with an update for each batch."""


def refused(case: Case) -> str | None:
    """Returns the reason why no network can train on these recordings by this recipe, or None."""
    if case.recipe == "li" and form_of(case.dataset).is_sound:
        return "recipe li is of recordings of cameras, and these are sounds"
    return None


def trained_on(case: Case, construction: str, mode: str) -> Case:
    """Returns the case of the network that trains on the batches of `case`: of `frames-mlp`, with
    as many inputs as its frames have channels, or of a network for images of a camera's size."""
    recordings = form_of(case.dataset)
    fields = {
        "workload": perceptrons.frames_mlp.name,
        "neurons": 128,
        "input": "dense",
        **FIELDS[case.recipe or "steps"],
    }
    trained = Case(
        VariantPattern.parse(case.behind).adapter,
        construction,
        mode,
        case.device,
        time_steps=case.time_steps,
        batch=case.batch,
        input_grad=False,
        seed=case.seed,
        classes=recordings.classes,
        image=recordings.features[-1],
        **fields,
    )
    if trained.workload == resnet.spiking_resnet18.name:
        return resnet.spiking_resnet18.canonical(trained)
    return replace(perceptrons.frames_mlp.canonical(trained), inputs=recordings.channels)
