"""The base class of adapters for frameworks on JAX."""

from collections.abc import Callable
from typing import Any

from snnbench.core.case import Case
from snnbench.core.contract import Adapter, Program
from snnbench.core.network import Network
from snnbench.kernels.spec import NeuronSpec

from ..ranks.refused import cannot_share

Function = Callable[..., Any]


class JaxAdapter(Adapter):
    """Subclass with `name` and `neuron`; the rest has defaults.

    `neuron` returns a pure function from currents (T, B, *features) to spikes of that shape,
    from rest. It is called under `jax.jit` and `jax.vjp`.

        class Mine(JaxAdapter):
            name = "mine"

            def neuron(self, spec, features):
                return lambda x: jax.lax.scan(step, jax.numpy.zeros_like(x[0]), x)[1]
    """

    requires: tuple[str, ...] = ("jax",)

    def step(self, spec: NeuronSpec, features: tuple[int, ...]) -> tuple[Function, Function]:
        """Optional, for recurrent neurons. Returns two functions: from one step's currents (B,
        *features) to the state at rest, and (state, currents) → (state, spikes)."""
        raise NotImplementedError(f"{type(self).__name__} does not define step(spec, features)")

    def scan(self, spec: NeuronSpec, features: tuple[int, ...]) -> tuple[Function, Function]:
        """Optional, for `resumable` constructions. Returns two functions: from one step's currents
        (B, *features) to the state at rest, and (state, currents (T, B, *features)) → (final state,
        spikes). The second takes the parameter of a learned decay as its third argument."""
        raise NotImplementedError(f"{type(self).__name__} does not define scan(spec, features)")

    def layer(
        self, spec: NeuronSpec, inputs: int, outputs: int, bias: bool, construction: str
    ) -> Function:
        """Returns a pure function ((weight, bias), (T, B, inputs)) → (T, B, outputs): one product
        over all rows, then the neuron. `weight` is (outputs, inputs); `bias` is (outputs,) or
        None."""
        from .jax_network import linear

        neuron = self.lif(spec, (outputs,), construction)
        return lambda parameters, x: neuron(linear(parameters, x))

    def refuses(self, case: Case, network: Network) -> str | None:
        if case.precision == "amp-bf16":
            return "JAX has no autocast; use bf16"
        reason = super().refuses(case, network)
        recurrent = network.has_neuron("recurrent")
        if reason is None and recurrent and type(self).step is JaxAdapter.step:
            return f"{self.name} is not offered here with a recurrent linear inside the time loop"
        return self._refuses_ranks(case, network) if reason is None and case.ranks else reason

    def _refuses_ranks(self, case: Case, network: Network) -> str | None:
        if type(self).program is not JaxAdapter.program:
            return f"{self.name} has a program of its own, which ranks cannot share"
        return cannot_share(self, case, network)

    def prepare(self, case: Case, threads: int) -> None:
        """XLA's thread pool follows the CPU affinity of the process, so `threads` needs no
        setting."""
        import jax

        jax.config.update(
            "jax_default_matmul_precision",
            "tensorfloat32" if case.precision == "tf32" else "highest",
        )

    def loop(self, construction: str) -> Function:
        """Returns the loop over time of recurrent neurons, which is called as `jax.lax.scan`."""
        import jax

        scan: Function = jax.lax.scan
        return scan

    def program(self, case: Case, network: Network) -> Program:
        if case.ranks:
            from .jax_ranks import ShardedProgram

            return ShardedProgram(self, case, network)
        from .jax_program import JaxProgram

        return JaxProgram(self, case, network)
