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


class CutOff(LavaDl):
    def parameters_of(self, spec, scale=1 << 18):
        return {**super().parameters_of(spec, scale), "threshold": 0.995, "scale": 1 << 18}


class NoReset(LavaDl):
    """The current decays instead of the voltage: nothing is left for the reset to act on."""

    def parameters_of(self, spec, scale=1 << 18):
        given = super().parameters_of(spec, scale)
        return {**given, "current_decay": given["voltage_decay"], "voltage_decay": given["current_decay"]}
