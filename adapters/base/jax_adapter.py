"""The base class of every adapter whose framework runs on JAX."""

from .case import Case
from .contract import Adapter


class JaxAdapter(Adapter):
    """Subclass with `name` and `neuron`; the rest has defaults.

    `neuron` returns a pure function that maps currents (T, B, *features) to spikes of that shape, from rest. It is
    called under `jax.jit` and `jax.vjp`.
    """

    requires = ("jax",)

    def neuron(self, spec, features: tuple[int, ...]):
        raise NotImplementedError(f"{type(self).__name__} does not define neuron(spec, features)")

    def lif(self, spec, features: tuple[int, ...], construction: str):
        """The neuron as `construction` spells it, like `neuron`; workload `lif` is this alone."""
        return self.neuron(spec, features)

    def layer(self, spec, inputs: int, outputs: int, bias: bool, construction: str):
        """A pure function ((weight, bias), (T, B, inputs)) → (T, B, outputs): one product over all rows, then the neuron.

        `weight` is (outputs, inputs); `bias` is (outputs,) or None.
        """
        from .jax_program import linear

        neuron = self.lif(spec, (outputs,), construction)
        return lambda parameters, x: neuron(linear(parameters, x))

    def refuses(self, case: Case) -> str | None:
        if case.precision == "amp-bf16":
            return "JAX has no autocast; use bf16"
        return super().refuses(case)

    def prepare(self, case: Case, threads: int) -> None:
        """`threads` binds through the process's CPU affinity, which XLA's thread pool obeys."""
        import jax

        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if case.precision == "tf32" else "highest")

    def program(self, case: Case):
        from .jax_program import JaxProgram

        return JaxProgram(self, case)
