"""What goes wrong where devices of JAX compute together."""

from snnbench.adapters.jax_scan import JaxScan


class Truncates(JaxScan):
    """The state that a device begins with has no gradient."""

    name = "truncates-in-jax"

    def scan(self, spec, features):
        import jax

        rest, scan = super().scan(spec, features)
        return rest, lambda state, *given: scan(jax.lax.stop_gradient(state), *given)
