"""What a reader of a table is told of a metric whose heading says too little."""

HINTS = {
    "rank_low": "ranks by step time that the case may have among those that differ in nothing but the "
    "framework; =: not shown to "
    "be slower than the best",
    "ratio": "step time over that of the fastest, with its 95 % interval, paired pass by pass",
    "blocks": "sets of fresh processes, which were timed together",
    "step_enqueue_s": "step time until the call came back: near all of it, Python is the limit",
    "memory_meaning": "figures of different meaning are different quantities",
    "wrong_decisions": "spikes that are not those of the oracle from the framework's own spikes before; few may "
    "be, "
    "near the threshold",
    "spike_mismatch": "against an oracle that runs free; decides nothing",
    "grad_error": "relative L2, the worst of weight, bias and input",
    "roofline": "the hardware's least time for the step, over the step time",
    "first_call_s": "with what it compiles",
    "output_dtype": "type of the spikes handed out",
    "state_dtype": "type of what a neuron carries from step to step, where it can be seen",
}
