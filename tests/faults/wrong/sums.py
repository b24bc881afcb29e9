"""Adapters with right spikes that hand out something else than one of their gradients. Every
class says what."""

import torch
from bases import Multiplied, OfLayer, with_gradient


class OnGradients(OfLayer):
    """A right layer; its gradients go through `of_weight`, `of_bias` and `of_input`."""

    def layer(self, spec, inputs, outputs, bias, construction):
        layer = super().layer(spec, inputs, outputs, bias, construction)
        layer.adapter = self
        return layer

    class kind(Multiplied):
        def forward(self, x):
            bias = (
                None
                if self.linear.bias is None
                else with_gradient(self.adapter.of_bias, self.linear.bias)
            )
            weight = with_gradient(self.adapter.of_weight, self.linear.weight)
            given = with_gradient(self.adapter.of_input, x) if x.requires_grad else x
            return self.neuron(torch.nn.functional.linear(given, weight, bias))

    def of_weight(self, gradient):
        return gradient

    of_bias = of_input = of_weight


class MeanOverBatch(OnGradients):
    """Averages the gradients of weight and bias over the batch."""

    name = "wrong-mean-over-batch"

    def program(self, case, network):
        self.items = case.batch
        return super().program(case, network)

    def of_weight(self, gradient):
        return gradient / self.items

    of_bias = of_weight


class WeightGradientTransposed(OnGradients):
    """Hands out the gradient of the transposed weight."""

    name = "wrong-weight-gradient-transposed"

    def of_weight(self, gradient):
        return gradient.T


class GradientClipped(OnGradients):
    """Clips the gradient of the weight to ±1."""

    name = "wrong-gradient-clipped"

    def of_weight(self, gradient):
        return gradient.clamp(-1, 1)


class InputGradientOfFirstStep(OnGradients):
    """Gives the input of the first step a gradient, and no other."""

    name = "wrong-input-gradient-of-first-step"

    def of_input(self, gradient):
        return torch.cat([gradient[:1], 0 * gradient[1:]])


class InputGradientTail(OnGradients):
    """Gives the last ten inputs no gradient."""

    name = "wrong-input-gradient-tail"

    def of_input(self, gradient):
        return torch.cat([gradient[..., :-10], 0 * gradient[..., -10:]], -1)


class OneRowLost(OnGradients):
    """Gives one neuron's weights no gradient."""

    name = "wrong-one-row-lost"

    def of_weight(self, gradient):
        return torch.cat([gradient[:41], 0 * gradient[41:42], gradient[42:]])


class WrongSign(OnGradients):
    """Hands out the gradient of the bias with the wrong sign."""

    name = "wrong-sign-of-bias"

    def of_bias(self, gradient):
        return -gradient


class BiasOfLastItem(OfLayer):
    """Sums the gradient of the bias over time alone, and hands out that of the last batch item."""

    name = "wrong-bias-of-last-item"

    class kind(Multiplied):
        def forward(self, x):
            currents = self.linear(x)
            if self.linear.bias is not None:
                others = x[:, :-1] @ self.linear.weight.T + self.linear.bias.detach()
                currents = torch.cat([others, currents[:, -1:]], 1)
            return self.neuron(currents)


class Kept(OnGradients):
    def __init__(self):
        self.before = {}

    def earlier(self, name, gradient):
        known = self.before.get(name)
        self.before[name] = gradient.clone()
        return (
            torch.zeros_like(gradient) if known is None or known.shape != gradient.shape else known
        )


class Accumulates(Kept):
    """Adds the gradients of the call before."""

    name = "wrong-accumulates"

    def of_weight(self, gradient):
        return gradient + self.earlier("weight", gradient)

    def of_bias(self, gradient):
        return gradient + self.earlier("bias", gradient)

    def of_input(self, gradient):
        return gradient + self.earlier("input", gradient)


class GradientsOfTheCallBefore(Kept):
    """Hands out the gradients of the call before."""

    name = "wrong-gradients-of-the-call-before"

    def of_weight(self, gradient):
        return self.earlier("weight", gradient)

    def of_bias(self, gradient):
        return self.earlier("bias", gradient)

    def of_input(self, gradient):
        return self.earlier("input", gradient)
