"""Adapters with a right network and a wrong training step. Every class says what is wrong with
it."""

import torch

from snnbench.adapters.base.torch_program import TorchProgram
from snnbench.adapters.base.torch_training import loss_of
from snnbench.adapters.torch_loop import TorchLoop


class Stepping(TorchLoop):
    """The right network; `change(trainer, program)` spoils its step."""

    def program(self, case, network):
        program = TorchProgram(self, case, network)
        self.change(program.trainer, program)
        return program


class InferenceFreesStates(Stepping):
    """Sets the optimizer's states to zero in an inference."""

    name = "wrong-inference-frees-states"

    def change(self, trainer, program):
        infer = program._inferred

        def inferred(x, every_border):
            trainer.rest()
            return infer(x, every_border)

        program._inferred = inferred


class InferenceKeepsWeights(Stepping):
    """Infers with the weights of the first inference."""

    name = "wrong-inference-keeps-weights"

    def change(self, trainer, program):
        infer, kept = program._inferred, []

        def inferred(x, every_border):
            now = [leaf.detach().clone() for leaf in program.leaves]
            kept.extend(now if not kept else [])
            with torch.no_grad():
                for leaf, first in zip(program.leaves, kept, strict=True):
                    leaf.copy_(first)
                result = infer(x, every_border)
                for leaf, last in zip(program.leaves, now, strict=True):
                    leaf.copy_(last)
            return result

        program._inferred = inferred


class LossByStep(Stepping):
    """Takes the loss at every time step, and the mean of these."""

    name = "wrong-loss-by-step"

    def change(self, trainer, program):
        right = trainer.loss
        trainer.loss = lambda output, labels: torch.stack(
            [right(step[None], labels) for step in output]
        ).mean()


class LossSummed(Stepping):
    """Sums the loss over the batch."""

    name = "wrong-loss-summed"

    def change(self, trainer, program):
        right = trainer.loss
        trainer.loss = lambda output, labels: len(labels) * right(output, labels)


class LossOfSum(Stepping):
    """Takes the sum over time for the mean."""

    name = "wrong-loss-of-sum"

    def change(self, trainer, program):
        trainer.loss = lambda output, labels: loss_of("spike-count", output, labels)


class LossUnscaled(Stepping):
    """Differentiates the right loss, and tells twice of it."""

    name = "wrong-loss-told"

    def change(self, trainer, program):
        right = trainer.loss

        class Told(torch.autograd.Function):
            @staticmethod
            def forward(ctx, loss):
                return 2 * loss

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        trainer.loss = lambda output, labels: Told.apply(right(output, labels))


class ClassLeftOut(Stepping):
    """Takes class 0 for a padding, which has no loss."""

    name = "wrong-class-left-out"

    def change(self, trainer, program):
        trainer.loss = lambda output, labels: torch.nn.functional.cross_entropy(
            output.mean(0), labels, ignore_index=0
        )


class LossByHand(Stepping):
    """Right: the loss in float64, of the logarithm of a sum, item by item."""

    name = "right-loss-by-hand"

    def change(self, trainer, program):
        def loss(output, labels):
            logits = output.double().mean(0)
            own = torch.stack(
                [each[label] for each, label in zip(logits, labels.tolist(), strict=True)]
            )
            return (logits.logsumexp(1) - own).mean().float()

        trainer.loss = loss


class StatesLost(Stepping):
    """Forgets the optimizer's states before every step."""

    name = "wrong-states-lost"

    def change(self, trainer, program):
        right = trainer.update
        trainer.update = lambda: (trainer.rest(), right())


class AccumulatedTwice(Stepping):
    """Adds every gradient up twice before the step."""

    name = "wrong-accumulated-twice"

    def change(self, trainer, program):
        right = trainer.update

        def update():
            for leaf in program.leaves:
                leaf.grad.mul_(2)
            right()

        trainer.update = update


class NeverZeroed(Stepping):
    """Adds gradients of earlier steps up."""

    name = "wrong-never-zeroed"

    def change(self, trainer, program):
        right, earlier = trainer.update, {}

        def update():
            for leaf in program.leaves:
                earlier[leaf] = leaf.grad = leaf.grad + earlier.get(leaf, 0)
            right()

        trainer.update = update


class MomentumBeforeDecay(Stepping):
    """Adds the gradient to the momentum before that decays."""

    name = "wrong-momentum-before-decay"

    def change(self, trainer, program):
        def update():
            with torch.no_grad():
                for leaf in program.leaves:
                    state = trainer.optimizer.state[leaf]
                    state["momentum_buffer"] = 0.9 * (state.get("momentum_buffer", 0) + leaf.grad)
                    leaf.sub_(0.01 * state["momentum_buffer"])

        trainer.update = update


class Nesterov(Stepping):
    """Looks ahead along the momentum."""

    name = "wrong-nesterov"

    def change(self, trainer, program):
        for group in trainer.optimizer.param_groups:
            group["nesterov"] = True


class AnotherRate(Stepping):
    """Learns 1 % faster."""

    name = "wrong-rate"

    def change(self, trainer, program):
        for group in trainer.optimizer.param_groups:
            group["lr"] *= 1.01


class DecaysWeights(Stepping):
    """Takes some of every weight away."""

    name = "wrong-weight-decay"

    def change(self, trainer, program):
        for group in trainer.optimizer.param_groups:
            group["weight_decay"] = 1e-2


class WithConstants(Stepping):
    """Has other constants than the named ones: `constants` of torch's optimizer."""

    constants: dict = {}

    def change(self, trainer, program):
        for group in trainer.optimizer.param_groups:
            group.update(self.constants)


class DecaysALittle(WithConstants):
    """Takes 1e-5 of every weight away in the gradient."""

    name = "wrong-weight-decay-of-1e-5"
    constants = {"weight_decay": 1e-5}


class AdamW(WithConstants):
    """Takes 1e-4 of every weight away, beside the gradient."""

    name = "wrong-adamw"
    constants = {"weight_decay": 1e-4, "decoupled_weight_decay": True}


class Momentum(WithConstants):
    """Has a momentum of 0.8999."""

    name = "wrong-momentum"
    constants = {"momentum": 0.8999}


class FirstBeta(WithConstants):
    """Adam with a first beta of 0.8999."""

    name = "wrong-first-beta"
    constants = {"betas": (0.8999, 0.999)}


class SecondBeta(WithConstants):
    """Adam with a second beta of 0.9991."""

    name = "wrong-second-beta"
    constants = {"betas": (0.9, 0.9991)}


class EpsilonOfKeras(WithConstants):
    """Adam with an epsilon of 1e-7."""

    name = "wrong-epsilon-of-keras"
    constants = {"eps": 1e-7}


class LargeEpsilon(WithConstants):
    """Adam with an epsilon of 1e-4."""

    name = "wrong-epsilon"
    constants = {"eps": 1e-4}


class Amsgrad(WithConstants):
    """Divides by the largest of the second states so far."""

    name = "wrong-amsgrad"
    constants = {"amsgrad": True}


class Ascends(WithConstants):
    """Maximizes the loss."""

    name = "wrong-maximize"
    constants = {"maximize": True}


class CorrectsAtFirst(Stepping):
    """Corrects the means for their start in the first step only."""

    name = "wrong-correction-of-later-steps"

    def change(self, trainer, program):
        right, taken = trainer.update, []

        def update():
            taken.append(None)
            for state in trainer.optimizer.state.values():
                state["step"].clamp_(max=0)
            right()

        trainer.update = update


class RateHalvedLater(Stepping):
    """Halves its rate from the fourth step on."""

    name = "wrong-rate-halved-later"
    right_steps = 3

    def change(self, trainer, program):
        right, taken = trainer.update, []

        def update():
            taken.append(None)
            for group, rate in zip(trainer.optimizer.param_groups, rates, strict=True):
                group["lr"] = rate if len(taken) <= self.right_steps else rate / 2
            right()

        rates = [group["lr"] for group in trainer.optimizer.param_groups]
        trainer.update = update


class RateHalvedInEnd(RateHalvedLater):
    """Halves its rate from the eighth step on, behind the steps of its proof."""

    name = "wrong-rate-halved-in-end"
    right_steps = 7
