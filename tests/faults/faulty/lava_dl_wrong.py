"""lava-dl with defaults of its blocks that change the neuron."""

from snnbench.adapters.lava_dl import LavaDl, _with_bias


class EightBits(LavaDl):
    """Leaves `pre_hook_fx` out, and so rounds weights to 8 bits; with None it would not."""

    name = "wrong-eight-bits"

    def layer(self, spec, inputs, outputs, bias, construction):
        parameters = {**self.parameters_of(spec), "scale": 64}
        return _with_bias(
            self.prepared(spec).block.cuba.Dense(parameters, inputs, outputs, delay_shift=False),
            outputs,
            bias,
        )


class Late(LavaDl):
    """Leaves `delay_shift` out, and so hands out spikes one step late."""

    name = "wrong-late-block"

    def layer(self, spec, inputs, outputs, bias, construction):
        block = self.prepared(spec).block.cuba.Dense(
            self.parameters_of(spec), inputs, outputs, pre_hook_fx=None
        )
        return _with_bias(block, outputs, bias)


class Rounded(LavaDl):
    """Offers bf16, in which spike and reset depend on two roundings of one potential."""

    name = "wrong-rounded-block"

    def supports(self, case):
        return None
