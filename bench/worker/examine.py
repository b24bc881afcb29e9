"""Examines a user's model: names the equations of its neurons, and says what is wrong with it.

Everything that is known so far is written after every part, so that a model that hangs or dies in
one of them loses nothing that was seen before.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from snnbench.adapters.base import torch_by_module, torch_model
from snnbench.adapters.base.jax_model import JaxModel
from snnbench.adapters.base.torch_by_module import Part
from snnbench.adapters.base.torch_model import Seen, TorchModel
from snnbench.adapters.base.torch_states import arrivals, keeping

from ..common import units
from ..common.units import counted, share
from ..core.status import in_words, memory_status
from ..proof.equation import NO_GRADIENT, NO_MEMORY, Equation, equation_of
from .axes import Axes
from .breaks import break_findings
from .gradients import gradient_findings
from .growth import growth, left
from .loop import state_findings
from .models import (
    COSTLY,
    TO_KNOW,
    WRONG,
    Emit,
    Finding,
    Unfit,
    alike,
    inputs,
    inputs_of,
    is_own,
    load_model,
    raised,
    reporting,
    spikes_of,
    verb_of,
    write_answer,
)
from .reach import reach_finding
from .swap import Swapped, swapped
from .waits import wait_findings

SATURATED = 0.95
"""Share of steps with a spike from which on a layer tells nothing."""
MIXES = "its batch items influence each other; is --axes right?"
WIDTHS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}


@dataclass
class Examined:
    """The answer; see `runner/examine.py`."""

    neurons: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    cost: str = ""
    parts: list[Part] = field(default_factory=list)
    swap: Swapped | None = None


def examine(job: dict[str, Any], emit: Emit) -> None:
    """Examines the model that `job` names by `file` and `name`, on an input of `shape` (T, B,
    *features) in the layout `axes`; the answer is written to the file `answer`."""

    def write(examined: Examined) -> None:
        write_answer(Path(job["answer"]), examined)

    with reporting(emit):
        model = load_model(job)
        x, other = inputs_of(job)
        examination = Examination(model, x, other, job["file"], emit, write)
        examination.run()
        if not job["quick"]:
            examination.measure()


class Examination:
    """Looks at a module on the input `x` (T, B, *features) and changed to `other`; `write` is
    called after every part."""

    def __init__(
        self,
        model: TorchModel,
        x: np.ndarray,
        other: np.ndarray,
        file: str,
        emit: Emit,
        write: Callable[[Examined], None],
    ):
        self.model = model
        self.is_empty = not x.any()
        self.x, self.other = inputs(x.shape) if self.is_empty else (x, other)
        self.shape = x.shape
        self.file, self.emit, self.write = file, emit, write
        self.answer = Examined()
        self.equations: dict[str, Equation] = {}
        self.resets = self.unsteady = self.misread = self.keeps = self.is_cut = False
        self.detached: list[str] = []
        self.of_resets: list[Finding] = []

    def run(self) -> None:
        self.emit({"part": "first_call"})
        seen = self._first_call()
        self.seen = seen
        neurons = self.neurons = torch_model.neurons_of(self.model, seen)
        parts: list[tuple[str, Iterator[Finding]]] = [
            ("first_call", self._of_layers(neurons)),
            ("excitation", self._of_formats(seen)),
            ("recheck", self._of_repeats(neurons)),
            ("memory", self._of_memory()),
            ("memory", self._of_states(neurons)),
            ("inference", self._of_axes(neurons)),
            ("backward", self._of_gradients(seen, neurons)),
            ("backward", self._of_waits()),
            ("learning", self._of_steps()),
            ("proof", self._of_neurons(neurons)),
        ]
        for part, findings in parts:
            self.emit({"part": part})
            try:
                for finding in findings:
                    self.answer.findings.append(finding)
            except Exception as error:
                self.answer.findings.append(self._failed(part, error))
            if self.resets:  # the training step resets what the model keeps
                self.answer.findings = [
                    each for each in self.answer.findings if each not in self.of_resets
                ]
            self.write(self.answer)
            if self.misread:
                break

    def _failed(self, part: str, error: Exception) -> Finding:
        """Returns that a part raised an error."""
        if is_own(error) and not isinstance(self.model, JaxModel):
            sentence = f"could not be looked at in part {part!r}: {in_words(error)}"
            return Finding(TO_KNOW, "the model", sentence)
        sentence = f"{self._raised('', error).lstrip()} when it is called again"
        return Finding(WRONG, "the model", sentence)

    def measure(self) -> None:
        """Measures how a training step grows, and fused neurons in place of those that `run` has
        named."""
        if self.misread or self.unsteady or isinstance(self.model, JaxModel):
            return
        self.emit({"part": "breakdown"})
        try:
            self.answer.cost, findings = growth(self.model, self.x, self.other)
            self.answer.findings += findings
        except torch_model.NoGradient:
            pass
        except Exception as error:
            self.answer.cost = f"other sizes than these: {self._raised('the model', error)}"
        with suppress(Exception):  # marks do not suit a model that changes outputs in place
            units = [one.name for one in torch_model.units_of(self.seen, self.neurons)]
            self.answer.parts = torch_by_module.by_module(self.model, self.x, units)
        self.write(self.answer)
        try:
            swap = swapped(self.model, self.seen, self.neurons, self.equations, self.x)
        except Exception as error:
            swap = Swapped(refused=[self._raised("the model with fused neurons", error)])
        self.answer.swap = swap
        self.write(self.answer)
        with suppress(Exception):  # a compiler's own faults are none of the model's
            self.answer.findings += break_findings(self.model, self.x)
        self.write(self.answer)

    def _raised(self, what: str, error: BaseException) -> str:
        return raised(what, error, self.file)

    def _first_call(self) -> dict[str, Seen]:
        """Returns what the modules did. Raises Unfit, with the layout that would fit."""
        model, (steps, batch) = self.model, self.shape[:2]
        model.module.train()
        model.restore()
        try:
            with model.watched(steps, batch) as seen:
                outputs = model(model.put(self.x))
        except Exception as error:
            fitting = "" if memory_status(in_words(error)) else self._fitting()
            raise Unfit(self._raised("forward", error) + fitting) from None
        if not outputs:
            raise Unfit("forward returns no tensor: return spikes, potentials or class scores")
        if model.training.classes is not None:
            try:
                model.loss_of_classes(outputs)
            except torch_model.NoLoss as error:
                raise Unfit(f"forward: {error}") from None
        return seen

    def _fitting(self) -> str:
        axes = self.model.axes
        given = f" on {torch_model.AXES[axes]} = {self.shape}"
        for other in torch_model.AXES:
            self.model.axes = other
            with suppress(Exception):
                self.model.restore()
                if other != axes and self.model(self.model.put(self.x)):
                    words = torch_model.AXES[other]
                    return f"{given}; it accepts --axes {other}, {words}"
        self.model.axes = axes
        return given

    def _activity(self, but: str | None = None, fresh: bool = True) -> list[np.ndarray]:
        """Returns outputs and spikes of an inference: outputs alone may be silent."""
        if fresh:
            self.model.restore(but)
        spikes, outputs = spikes_of(self.model, self.neurons, self.x)
        return outputs + spikes

    def _of_layers(self, neurons: list[Seen]) -> Iterator[Finding]:
        """Yields layers that never fire, or nearly always, and those that are none of the
        model's."""
        for name, kinds in self.model.unregistered().items():
            yield Finding(
                WRONG,
                name,
                f"holds {', '.join(dict.fromkeys(kinds))} in a list or dict, which is no part of "
                "the model: no optimizer, reset, eval() or to() reaches it; use "
                "nn.ModuleList or nn.ModuleDict",
            )
        if self.is_empty:
            yield Finding(
                WRONG,
                "the input",
                "is 0 everywhere, and a model learns nothing from it; look at how it was made. The "
                "other sentences are about random zeros and ones of its sizes",
            )
        steps, batch = self.shape[:2]
        where = f"in {counted(steps, 'step')} of {counted(batch, 'item')} on this input"
        silent: dict[str, int] = {}
        for one in neurons:
            spikes = torch_model.over_time(one, steps, batch)
            rate, fires = float(spikes.mean()), (spikes > 0).mean(axis=(0, 1))
            self.answer.neurons.append(
                {
                    "module": one.name,
                    "kind": one.kind,
                    "verdict": "unproved",
                    "equation": "",
                    "differs": "",
                    "learned": one.learned,
                    "rate": rate,
                    "rates": spikes.mean(axis=(1, 2)).tolist(),
                    "gradients": [],
                    "silent": float((fires == 0).mean()),
                }
            )
            is_silent, is_saturated = not spikes.any(), fires.mean() >= SATURATED
            if (is_silent or is_saturated) and not self._is_used(one):
                continue  # a readout of potentials
            if is_silent:
                silent[one.name] = spikes.shape[2]
            elif is_saturated:
                yield Finding(
                    COSTLY,
                    one.name,
                    f"is saturated: it fires in {share(float(fires.mean()))} of all steps, "
                    f"{where}; lower the weights before it or raise its threshold",
                )
        if silent:
            names, count = list(silent), sum(silent.values())
            which = verb_of(names, "is silent: none of its", "are silent: none of their")
            first = verb_of(names, "it", "the first one")
            yield Finding(
                COSTLY,
                ", ".join(names),
                f"{which} {count} neurons fires {where}; raise the weights before {first} or lower "
                "its threshold",
            )

    def _is_used(self, one: Seen) -> bool:
        try:
            return self.model.is_used(one, self.x)
        except Exception:  # other values than its spikes may be none
            return True

    def _of_formats(self, seen: dict[str, Seen]) -> Iterator[Finding]:
        """Yields formats that become wider inside the model, and spikes that are no floats."""
        for one in seen.values():
            given, handed_out = one.types
            if given in WIDTHS and WIDTHS.get(handed_out, 0) > WIDTHS[given]:
                yield Finding(
                    COSTLY,
                    one.name,
                    f"turns {given} into {handed_out}, and what follows it computes in "
                    f"{handed_out} too; "
                    "give its constants the model's type, or cast its output back",
                )
            if given.startswith(("float", "bfloat")) and handed_out in ("bool", "int64", "int32"):
                yield Finding(
                    WRONG,
                    one.name,
                    f"turns {given} into {handed_out}, through which no gradient passes; hand out "
                    "spikes as floats, with a surrogate gradient",
                )

    def _of_repeats(self, neurons: list[Seen]) -> Iterator[Finding]:
        """Yields what makes a repeated call differ: state, random numbers, or what lies outside."""
        model = self.model
        model.module.eval()
        first, again = self._activity(), self._activity(fresh=False)
        changed = model.changed()
        self.unsteady = not alike(self._activity(), first)
        if self.unsteady:
            yield Finding(
                WRONG,
                "the model",
                "gives other outputs when an equal call is repeated from the same state and the "
                "same seed: it keeps something outside its modules, such as a global or a list",
            )
            return
        model.restore(seed=2)
        if not alike(self._activity(fresh=False), first):
            yield Finding(
                TO_KNOW,
                "the model",
                "draws random numbers in eval mode: two equal calls differ unless they are seeded; "
                "right for a rate code, wrong for a dropout that should be off",
            )
        else:
            silent = [one for one in neurons if one.framework and not self._fires(one)]
            begun = keeping(model, self.x, silent)
            is_other = not alike(again, first)
            self.keeps = is_other or bool(begun)
            if self.keeps:
                guilty = self._guilty(first, changed) if is_other else []
                yield from self._state(neurons, guilty + begun, is_other)
        model.module.train()

    def _guilty(self, first: list[np.ndarray], changed: list[str]) -> list[str]:
        """Returns the modules with a state that alone makes a second call differ from the first;
        all that are `changed` if none does."""
        guilty = []
        for name in changed:
            self.model.first_inference(self.x)
            if not alike(self._activity(but=name), first):
                guilty.append(name)
        return guilty or changed or [""]

    def _state(self, neurons: list[Seen], guilty: list[str], is_other: bool) -> Iterator[Finding]:
        """Yields the modules that keep their state; `is_other`: the second of two equal calls
        differs."""
        neuron_of = {one.name: one for one in neurons}
        by_advice: dict[tuple[str, str], list[str]] = {}
        for name in guilty:
            owner = next((n for n in neuron_of if f"{name}.".startswith(f"{n}.")), "")
            known = neuron_of.get(owner)
            how = known.resets if known else None
            severity = TO_KNOW if how else WRONG
            todo = (
                f"right only if {how} runs before every sequence; without it memory grows and "
                "backward goes through earlier calls"
                if how
                else "begin forward with a state of zeros, or backward grows with every call"
            )
            by_advice.setdefault((severity, todo), []).append(owner or name or "the model")
        does = "gives other spikes" if is_other else "begins where the first ended"
        for (severity, todo), names in by_advice.items():
            shown = list(dict.fromkeys(names))
            verb = verb_of(shown, "keeps its", "keep their")
            sentence = (
                f"{verb} state from one call to the next: the second of two equal calls {does}; "
                f"{todo}"
            )
            self.of_resets.append(Finding(severity, ", ".join(shown), sentence))
            yield self.of_resets[-1]

    def _fires(self, one: Seen) -> bool:
        return bool(torch_model.over_time(one, *self.shape[:2]).any())

    def _of_memory(self) -> Iterator[Finding]:
        """Yields attributes that hold more after every call."""
        self.model.module.train()
        self.model.restore()
        held = []
        for _ in range(3):
            self.model(self.model.put(self.x))
            held.append(self.model.held())
        for name, size in held[2].items():
            before = [each.get(name, 0) for each in held]
            if before[0] < before[1] < size:
                yield Finding(
                    COSTLY,
                    name,
                    f"grows: {units.size(size - before[1])} more after every call, with the graphs "
                    "behind them; empty it at the start of forward, or keep .detach()ed copies",
                )

    def _of_states(self, neurons: list[Seen]) -> Iterator[Finding]:
        """Yields neurons in a loop over time that do not find their state as they left it."""
        found = {} if isinstance(self.model, JaxModel) else arrivals(self.model, self.x, neurons)
        self.detached = [n for n, one in found.items() if one.detached and not one.is_chunk]
        yield from state_findings(found)

    def _of_axes(self, neurons: list[Seen]) -> Iterator[Finding]:
        """Yields outputs that depend on other items of the batch or on the future."""
        if self.unsteady:
            return
        axes = Axes(self.model, self.x, self.other, neurons)
        try:
            yield from axes.findings()
        finally:
            self.misread = axes.is_misread
        if self.misread:
            for neuron in self.answer.neurons:
                neuron["differs"] = "its axes are read wrongly"

    def _of_gradients(self, seen: dict[str, Seen], neurons: list[Seen]) -> Iterator[Finding]:
        """Yields faults of one backward: missing, zero or not finite gradients; and of a second."""
        model = self.model
        model.restore()
        if not model.gradients():
            yield Finding(TO_KNOW, "the model", "has no parameters to train")
            return
        failed = self._backward()
        if failed:
            yield Finding(
                WRONG,
                "the model",
                f"has no backward: {failed}; a comparison, .detach(), .data, torch.no_grad() or an "
                "integer between weights and output cuts it",
            )
            return
        yield from gradient_findings(model, self.x, seen, neurons)
        self._over_time(neurons)
        if not self.keeps and self._backward():
            keepers = [one for one in neurons if one.resets]
            how = keepers[0].resets if keepers else None
            todo = (
                f"call {how} first" if how else "detach or zero its state at the start of forward"
            )
            sentence = (
                "fails in the backward of a second call, which goes through the graph of the "
                f"first: {todo}"
            )
            self.of_resets.append(Finding(TO_KNOW if how else WRONG, "the model", sentence))
            yield self.of_resets[-1]
        units = torch_model.units_of(self.seen, neurons)
        reach = None if self.detached else reach_finding(model, self.x, self.other, units)
        if reach:
            self.is_cut = True
            yield reach

    def _of_waits(self) -> Iterator[Finding]:
        """Yields what the host of a GPU would wait for."""
        if not isinstance(self.model, JaxModel):
            yield from wait_findings(self.model, self.x)

    def _over_time(self, neurons: list[Seen]) -> None:
        """Adds the gradients by time step of each neuron's spikes."""
        try:
            gradients = torch_by_module.gradients_over_time(self.model, self.x, neurons)
        except Exception:  # a model that changes its spikes in place, for example
            return
        for described in self.answer.neurons:
            norms = gradients[described["module"]]
            if np.isfinite(norms).all():
                described["gradients"] = norms.tolist()

    def _of_steps(self) -> Iterator[Finding]:
        """Yields faults of the user's own training step: parameters that stay, state that survives
        it, a second step that fails."""
        model = self.model
        if isinstance(model, JaxModel) or model.training.step is None:
            return
        steps, name = self.shape[:2], model.training.step.__name__
        model.restore()
        model.keep_parameters()
        model.module.train()

        def taken() -> list[np.ndarray]:
            with model.watched(*steps) as seen:
                model.train(self.x)
            spiking = [seen[one.name] for one in self.neurons if one.name in seen]
            return [np.asarray(each.float()) for one in spiking for each in one.spikes or []]

        try:
            first = taken()
        except Exception as error:
            yield Finding(WRONG, name, self._raised("", error).lstrip())
            return
        if stayed := [each for each in model.gradients() if each in model.untrained()]:
            yield Finding(
                WRONG,
                ", ".join(stayed),
                f"{verb_of(stayed, 'is', 'are')} not changed by {name}: the optimizer does not "
                f"have {verb_of(stayed, 'it', 'them')}, or the gradient is zero",
            )
        model.restore_parameters()
        try:
            again = taken()
        except Exception as error:
            yield Finding(
                WRONG,
                name,
                f"{self._raised('', error).lstrip()} in its second call, which goes through the "
                "graph of the first: reset or detach states at its start",
            )
            return
        finally:
            model.restore_parameters()
        yield from left(lambda: model.train(self.x), name)
        model.restore_parameters()
        self.resets = alike(first, again)
        if not self.resets:
            yield Finding(
                WRONG,
                name,
                "begins with the states that it left: the second of two equal steps gives other "
                "spikes; reset states at its start",
            )

    def _backward(self) -> str | None:
        """Calls and differentiates; returns why that fails, in words."""
        self.model.module.train()
        try:
            self.model.backward(self.x)
        except torch_model.NoGradient as error:
            return str(error)
        except Exception as error:
            return self._raised("backward", error)
        return None

    def _of_neurons(self, neurons: list[Seen]) -> Iterator[Finding]:
        """Names every neuron's equation; yields those without a gradient."""
        for one, described in zip(neurons, self.answer.neurons, strict=True):
            try:
                equation = equation_of(_Alone(self, one), one.threshold)
            except Exception as error:
                steps = self.shape[0]
                fixed = self._runs_alone(one, steps) and not self._runs_alone(one, steps + 1)
                only = f"it runs on {counted(steps, 'time step')} and on no other number"
                reason = only if fixed else self._raised("alone it", error)
                equation = Equation("none", differs=reason)
            if equation.verdict == "none" and self._mixes_items(one):
                equation = Equation("none", differs=MIXES)
                if one.framework and one.layout != "rows":
                    yield Finding(
                        WRONG,
                        one.name,
                        "passes its state from item to item of the batch, as if that were time; "
                        "is --axes right?",
                    )
            self.equations[one.name] = equation
            words = equation.words()
            described |= {
                "verdict": equation.verdict,
                "equation": f"{words}, recurrent" if words and one.is_recurrent else words,
                "differs": equation.differs,
            }
            self.write(self.answer)
            if NO_GRADIENT in equation.differs:
                yield Finding(
                    WRONG,
                    one.name,
                    "spikes without a surrogate: no gradient passes through it; replace the "
                    "derivative of its step by a surrogate",
                )
            elif equation.differs == NO_MEMORY and one.framework and one.layout != "step":
                how = "with step_mode 'm'" if one.framework == "SpikingJelly" else "for all steps"
                yield Finding(
                    WRONG,
                    one.name,
                    "has no memory between steps: it is called once for all steps and takes them "
                    f"for one batch; make it {how}, or call it step by step",
                )
            elif "gradient is cut" in equation.differs and not self.is_cut:
                severity, todo = WRONG, "keep the graph"
                if one.framework:
                    severity, todo = TO_KNOW, "right only where this neuron is chosen for that"
                yield Finding(
                    severity, one.name, f"is detached in time: {equation.differs}; {todo}"
                )

    def _mixes_items(self, one: Seen) -> bool:
        """Tells if a neuron for all steps, driven alone, passes something from item to item, as it
        does where its batch is time."""
        shape = torch_model.currents_shape(one)
        if one.layout == "step" or shape[0] in (1, self.shape[0]):  # else T is told from B
            return False
        noise = np.random.default_rng(3).standard_normal((self.shape[0], *shape))
        other = noise.copy()
        other[:, 0] *= -1
        for size in 2.0 ** np.arange(-3, 6):
            with suppress(Exception):
                first, second = (self.model.drive(one, size * each)[0] for each in (noise, other))
                if not np.array_equal(first[:, 1:], second[:, 1:]):
                    return True
        return False

    def _runs_alone(self, one: Seen, steps: int) -> bool:
        try:
            currents = np.zeros((steps, *torch_model.currents_shape(one)), np.float32)
            self.model.drive(one, currents)
        except Exception:
            return False
        return True


class _Alone:
    """A neuron for `equation_of`."""

    def __init__(self, examination: Examination, seen: Seen):
        self.model, self.seen = examination.model, seen
        self.shape = torch_model.currents_shape(seen)

    def drive(
        self, currents: np.ndarray, upstream: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        return self.model.drive(self.seen, currents, upstream)
