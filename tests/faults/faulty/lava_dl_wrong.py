"""lava-dl as one gets it wrong: what its blocks do unless they are told not to."""

from snnbench.adapters.lava_dl import LavaDl, _with_bias


class EightBits(LavaDl):
    """`pre_hook_fx` is not the same as absent when it is None."""

    def layer(self, spec, inputs, outputs, bias, construction):
        parameters = {**self.parameters_of(spec), "scale": 64}
        return _with_bias(self.prepared(spec).block.cuba.Dense(parameters, inputs, outputs, delay_shift=False), outputs, bias)


class Late(LavaDl):
    def layer(self, spec, inputs, outputs, bias, construction):
        block = self.prepared(spec).block.cuba.Dense(self.parameters_of(spec), inputs, outputs, pre_hook_fx=None)
        return _with_bias(block, outputs, bias)


class Rounded(LavaDl):
    """Its reset and its spike by two roundings of one potential."""

    def supports(self, case):
        return None
