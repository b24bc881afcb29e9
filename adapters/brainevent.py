"""brainevent (https://brainevent.readthedocs.io): its product of a binary array, which adds the
weights of inputs that spiked, in front of the plain scan of `jax`. On a CPU Numba compiles it.

A binary array adds a weight for every value above 0, once: it is offered behind an input of spikes
and behind neurons that fire once a step. brainevent has no neurons.
"""

from snnbench.core.case import SPIKES, Case
from snnbench.core.network import INPUT, SAME_NUMBERS, Network

from .jax_scan import JaxScan


class Brainevent(JaxScan):
    name = "brainevent"
    requires = ("jax", "numba", "brainevent")
    constructions = {"default": {"linear", "synaptic", "adaptive"}}
    learned_decays = {}

    def supports(self, case: Case) -> str | None:
        if case.device == "cpu" and case.precision in ("bf16", "fp16"):
            return f"Numba, which compiles brainevent's product on a CPU, has no {case.precision}"
        return "a binary array holds no counts" if case.spec.max_spikes > 1 else None

    def refuses(self, case: Case, network: Network) -> str | None:
        if reason := super().refuses(case, network):
            return reason
        for linear, _ in network.neurons_behind("linear"):
            source = network.node(linear).inputs[0]
            while source != INPUT and network.node(source).kind in SAME_NUMBERS:
                source = network.node(source).inputs[0]
            if source == INPUT and case.input not in SPIKES:
                return f"a binary array takes spikes, and this input is {case.input}"
            if source != INPUT and network.node(source).kind != "neuron":
                return f"a binary array takes spikes, and {linear} reads {source}"
        return None

    def layer(self, spec, inputs, outputs, bias, construction):
        from brainevent import BinaryArray

        neuron = self.lif(spec, (outputs,), construction)

        def spikes(parameters, x):
            weight, bias = parameters
            product = BinaryArray(x.reshape(-1, inputs)) @ weight.T
            currents = product.reshape(*x.shape[:2], outputs)
            return neuron(currents if bias is None else currents + bias)

        return spikes
