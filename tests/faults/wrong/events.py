"""Networks that take shortcuts for few, for no or for many events. Every class says what is wrong
or odd about it."""

import torch
from bases import Multiplied, OfLayer, OfLoop, Recurrence, straight
from layers import Kernel

from snnbench.adapters.jax_scan import JaxScan


class NoDecayInSilence(OfLoop):
    """Leaves the potentials as they are in a step without input; the bias is input."""

    name = "wrong-no-decay-in-silence"

    class kind(Recurrence):
        def charged(self, after, current, t):
            silent = (current == current[0]).all()
            return after + current if silent else super().charged(after, current, t)


class NoBiasInSilence(OfLayer):
    """Adds no bias in a step without input."""

    name = "wrong-no-bias-in-silence"

    class kind(Multiplied):
        def forward(self, x):
            driven = (x != 0).flatten(1).any(dim=1)[:, None, None]
            return self.neuron(
                torch.nn.functional.linear(x, self.weight()) + self.linear.bias * driven
            )


class SilentImagesSkipped(Kernel):
    """Convolves no image without a spike, and forgets the bias there."""

    name = "wrong-silent-images-skipped"

    def convolved(self, conv, x):
        driven = (x != 0).flatten(1).any(dim=1)[:, None, None, None]
        return super().convolved(conv, x) * driven


class SilentInputsLeftOut(OfLayer):
    """Multiplies the inputs that have a spike in this call: the others get no gradient."""

    name = "wrong-silent-inputs-left-out"

    class kind(Multiplied):
        def forward(self, x):
            driven = (x != 0).flatten(0, 1).any(dim=0).nonzero()[:, 0]
            return self.neuron(
                torch.nn.functional.linear(
                    x[..., driven], self.linear.weight[:, driven], self.linear.bias
                )
            )


class SilentAtFirstLeftOut(OfLayer):
    """Leaves out for ever the inputs that are silent in its first call."""

    name = "wrong-silent-at-first-left-out"

    class kind(Multiplied):
        used = None

        def given(self, x):
            if self.used is None:
                self.used = (x != 0).flatten(0, 1).any(dim=0)
            return x * self.used


class EventsOfHalf(OfLayer):
    """Multiplies no more events than half of all inputs of a call."""

    name = "wrong-events-of-half"

    class kind(Multiplied):
        def given(self, x):
            events = x.flatten().nonzero()[: x.numel() // 2, 0]
            taken = torch.zeros(x.numel()).index_fill(0, events, 1)
            return straight(x, x * taken.view(x.shape))


class EventsOfHalfAStep(OfLayer):
    """Multiplies no more events than half of the inputs of a step and item."""

    name = "wrong-events-of-half-a-step"

    class kind(Multiplied):
        def given(self, x):
            return straight(x, x * ((x != 0).cumsum(dim=-1) <= x.shape[-1] // 2 + 1))


class JaxEventsOfHalf(JaxScan):
    """Multiplies no more events than half of all inputs of a call, by `nonzero(size=…)`."""

    name = "wrong-jax-events-of-half"

    def layer(self, spec, inputs, outputs, bias, construction):
        import jax
        import jax.numpy as jnp

        neuron = self.neuron(spec, (outputs,))

        def layer(parameters, x):
            weight, bias = parameters
            (events,) = jnp.nonzero(x.ravel(), size=x.size // 2, fill_value=x.size)
            taken = jnp.zeros(x.size).at[events].set(1, mode="drop").reshape(x.shape)
            given = x + jax.lax.stop_gradient(x * taken - x)
            return neuron(given @ weight.T + bias)

        return layer


class JaxNoBiasInSilence(JaxScan):
    """Adds no bias in a step without input."""

    name = "wrong-jax-no-bias-in-silence"

    def layer(self, spec, inputs, outputs, bias, construction):
        neuron = self.neuron(spec, (outputs,))

        def layer(parameters, x):
            weight, bias = parameters
            driven = (x != 0).any(axis=(1, 2), keepdims=True)
            return neuron(x @ weight.T + bias * driven)

        return layer


class EventDriven(OfLayer):
    """Multiplies the steps with input alone; silent ones take the bias and decay."""

    name = "right-event-driven"

    class kind(Multiplied):
        def forward(self, x):
            driven = (x != 0).flatten(1).any(dim=1)
            right = torch.nn.functional.linear(x, self.weight())
            products = torch.zeros_like(right)
            products[driven] = torch.nn.functional.linear(x[driven], self.weight()).detach()
            return self.neuron(straight(right, products) + self.linear.bias)


class SparseProducts(OfLayer):
    """Multiplies a sparse matrix of its inputs."""

    name = "right-sparse-products"

    class kind(Multiplied):
        def forward(self, x):
            product = torch.nn.functional.linear(x, self.weight())
            sparse = torch.sparse.mm(x.flatten(0, 1).detach().to_sparse(), self.weight().detach().T)
            return self.neuron(straight(product, sparse.view_as(product)) + self.linear.bias)


class SharedWorkspace(OfLayer):
    """Goes back through what the last forward left in its workspace."""

    name = "wrong-shared-workspace"

    class kind(Multiplied):
        def forward(self, x):
            workspace = self.__dict__.setdefault("workspace", {})

            class Product(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x, weight):
                    workspace["x"] = x.detach().clone()
                    ctx.save_for_backward(weight)
                    return x @ weight.T

                @staticmethod
                def backward(ctx, gradient):
                    (weight,) = ctx.saved_tensors
                    x = workspace["x"]
                    return gradient @ weight, gradient.flatten(0, 1).T @ x.flatten(0, 1)

            return self.neuron(Product.apply(x, self.linear.weight) + self.linear.bias)
