"""Adapters of the contract's test networks with something wrong around the neurons. Every class
says what is wrong with it."""

import torch
from torch.nn import functional

from snnbench.adapters.base.torch_network import Recurrent
from snnbench.adapters.torch_loop import TorchLoop


class Replaced(TorchLoop):
    """The right network but for the nodes of `kinds`, which `module(node, features)` makes."""

    kinds: tuple[str, ...] = ()

    def modules(self, case, network):
        wrong = [node for node in network.nodes if node.kind in self.kinds]
        made = {(node.name,): self.module(node, network.shapes[node.inputs[0]]) for node in wrong}
        return super().modules(case, network) | made


class Norm(torch.nn.BatchNorm2d):
    """The right norm of (T, B, C, H, W), in pieces."""

    axes, correction = (0, 1, 3, 4), 0

    def statistics(self, x):
        return torch.var_mean(x, self.axes, correction=self.correction, keepdim=True)

    def forward(self, x):
        variance, mean = self.statistics(x)
        self.follow(x.detach())
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight[
            :, None, None
        ] + self.shift()[:, None, None]

    def shift(self):
        return self.bias

    @torch.no_grad()
    def follow(self, x):
        variance, mean = torch.var_mean(x, (0, 1, 3, 4))
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance, self.momentum)


class NormInEvalMode(Replaced):
    """Normalises by the running statistics, as in eval mode."""

    name = "wrong-norm-in-eval-mode"
    kinds = ("norm",)

    class kind(Norm):
        def statistics(self, x):
            return self.running_var[:, None, None].clone(), self.running_mean[:, None, None].clone()

    def module(self, node, features):
        return self.kind(features[0], node.options["epsilon"], node.options["momentum"])


class NormByStep(NormInEvalMode):
    """Normalises every time step by itself."""

    name = "wrong-norm-by-step"

    class kind(Norm):
        axes = (1, 3, 4)


class NormByPixel(NormInEvalMode):
    """Normalises every pixel by itself."""

    name = "wrong-norm-by-pixel"

    class kind(Norm):
        axes = (0, 1)


class NormUnbiased(NormInEvalMode):
    """Divides by the unbiased variance."""

    name = "wrong-norm-unbiased"

    class kind(Norm):
        correction = 1


class NormEpsilon(NormInEvalMode):
    """Adds 1e-3 to the variance instead of 1e-5."""

    name = "wrong-norm-epsilon"

    def module(self, node, features):
        return Norm(features[0], 1e-3, node.options["momentum"])


class NormWithoutShift(NormInEvalMode):
    """Does not add the norm's bias."""

    name = "wrong-norm-without-shift"

    class kind(Norm):
        def shift(self):
            return 0 * self.bias


class NormDetached(NormInEvalMode):
    """Lets no gradient pass the norm's statistics."""

    name = "wrong-norm-detached"

    class kind(Norm):
        def statistics(self, x):
            return super().statistics(x.detach())


class NormRecomputed(NormInEvalMode):
    """Computes the norm again in the backward, which moves the running statistics again."""

    name = "wrong-norm-recomputed"

    class kind(Norm):
        def forward(self, x):
            right = super().forward
            if not (self.training and torch.is_grad_enabled()):
                return right(x)
            return torch.utils.checkpoint.checkpoint(right, x, use_reentrant=False)


class NormFoldedOnce(NormInEvalMode):
    """Folds an inference's norm into a factor and a shift at the first inference."""

    name = "wrong-norm-folded-once"

    class kind(Norm):
        folded = None

        def forward(self, x):
            if self.training:
                return super().forward(x)
            if self.folded is None:
                scale = self.weight * torch.rsqrt(self.running_var + self.eps)
                self.folded = scale.detach(), (self.bias - self.running_mean * scale).detach()
            scale, shift = self.folded
            return x * scale[:, None, None] + shift[:, None, None]


class RunningStatisticsLeft(NormInEvalMode):
    """Leaves the running statistics as they are."""

    name = "wrong-running-statistics-left"

    class kind(Norm):
        def follow(self, x):
            return


class RunningVarianceBiased(NormInEvalMode):
    """Follows the biased variance."""

    name = "wrong-running-variance-biased"

    class kind(Norm):
        @torch.no_grad()
        def follow(self, x):
            variance, mean = torch.var_mean(x, (0, 1, 3, 4), correction=0)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance, self.momentum)


class ShortcutDetached(Replaced):
    """Lets no gradient pass the shortcut."""

    name = "wrong-shortcut-detached"
    kinds = ("add",)

    class kind(torch.nn.Module):
        def forward(self, branch, shortcut):
            return branch + shortcut.detach()

    def module(self, node, features):
        return self.kind()


class ShortcutLate(ShortcutDetached):
    """Adds the shortcut one time step late."""

    name = "wrong-shortcut-late"

    class kind(torch.nn.Module):
        def forward(self, branch, shortcut):
            return branch + torch.cat([torch.zeros_like(shortcut[:1]), shortcut[:-1]])


class TiesLast(Replaced):
    """Of equal values in a window gives the last the gradient."""

    name = "wrong-ties-last"
    kinds = ("max_pool",)

    class kind(torch.nn.Module):
        def __init__(self, options):
            super().__init__()
            self.sizes = options["kernel"], options["stride"], options["padding"]

        def forward(self, x):
            turned = functional.max_pool2d(x.flatten(0, 1).flip(-1, -2), *self.sizes)
            return turned.flip(-1, -2).unflatten(0, x.shape[:2])

    def module(self, node, features):
        return self.kind(node.options)


class LastStep(ShortcutDetached):
    """Hands out the last time step for the mean over all."""

    name = "wrong-last-step"
    kinds = ("mean_time",)

    class kind(torch.nn.Module):
        def forward(self, x):
            return x[-1:]


class MeanGradientSummed(ShortcutDetached):
    """Does not divide the gradient of the mean by the number of steps."""

    name = "wrong-mean-gradient"
    kinds = ("mean_time",)

    class kind(torch.nn.Module):
        def forward(self, x):
            mean = x.mean(0, keepdim=True)
            return mean.detach() + (summed := x.sum(0, keepdim=True)) - summed.detach()


class ClassifierWithoutBias(Replaced):
    """Does not add the bias of the last linear."""

    name = "wrong-classifier-without-bias"
    kinds = ("linear",)

    class kind(torch.nn.Linear):
        def forward(self, x):
            return functional.linear(x, self.weight, 0 * self.bias)

    def module(self, node, features):
        return self.kind(features[0], node.options["outputs"])


class RecurrenceDetached(TorchLoop):
    """Lets no gradient pass from the spikes of the step before."""

    name = "wrong-recurrence-detached"

    def program(self, case, network):
        program = super().program(case, network)
        for module in program.network.modules():
            if isinstance(module, Recurrent):
                module.recurrent.register_forward_pre_hook(
                    lambda linear, given: self.changed(*given)
                )
        return program

    def changed(self, spikes):
        return (spikes.detach(),)


class RecurrenceDropped(RecurrenceDetached):
    """Ignores the recurrent weights."""

    name = "wrong-recurrence-dropped"

    def changed(self, spikes):
        return (0 * spikes,)


class RecurrenceReversed(RecurrenceDetached):
    """Takes the recurrent inputs in another order."""

    name = "wrong-recurrence-reversed"

    def changed(self, spikes):
        return (spikes.flip(-1),)


class PotentialsDetached(TorchLoop):
    """Hands out potentials that no gradient passes."""

    name = "wrong-potentials-detached"

    def potentials(self, spec, features, construction):
        right, change = super().potentials(spec, features, construction), self.change

        class Changed(torch.nn.Module):
            def forward(self, currents):
                spikes, potentials = right(currents)
                return spikes, change(spec, spikes, potentials)

        return Changed()

    def change(self, spec, spikes, potentials):
        return potentials.detach() + 0 * potentials


class PotentialsAfterReset(PotentialsDetached):
    """Hands out the potentials after the reset."""

    name = "wrong-potentials-after-reset"

    def change(self, spec, spikes, potentials):
        return potentials - spec.threshold * spikes
