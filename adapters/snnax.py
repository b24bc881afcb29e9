"""snnax (https://github.com/PGI15/snnax): a row without figures, for its package cannot be imported.

The only version on PyPI is 0.0.1, of 2024: `import snnax` imports `snnax.snn`, which imports a module `init` that is not in it.
"""

from .base.jax_adapter import JaxAdapter


class Snnax(JaxAdapter):
    name = "snnax"
    distribution = "snnax"
    refusal = "snnax 0.0.1, the only version on PyPI, cannot be imported: its package lacks snnax.snn.init"
