"""Networks as adapters build them that take another one for the case's: nodes that read others
or have other options."""

from dataclasses import replace

from snnbench.adapters.torch_loop import TorchLoop
from snnbench.core.network import Network


class Rewired(TorchLoop):
    """The network of the case, but for the `inputs` and `options` of some nodes; those of a
    `kind` have other options too."""

    inputs: dict[str, tuple[str, ...]] = {}
    options: dict[str, dict] = {}
    kind, all_have = "", {}

    def program(self, case, network):
        return super().program(
            case,
            Network(network.input, tuple(self.rewired(network, node) for node in network.nodes)),
        )

    def rewired(self, network, node):
        options = {
            **node.options,
            **(self.all_have if node.kind == self.kind else {}),
            **self.options.get(node.name, {}),
        }
        if "threshold" in options:
            options["neuron"] = replace(options["neuron"], threshold=options.pop("threshold"))
        return replace(node, inputs=self.inputs.get(node.name, node.inputs), options=options)


class BlockSkipped(Rewired):
    """The second block is skipped: the third reads the first."""

    name = "wrong-block-skipped"
    inputs = {"conv6": ("neuron3",), "conv7": ("neuron3",)}


class BranchReadsAnother(Rewired):
    """A block's first convolution reads the spikes of the block before."""

    name = "wrong-branch-reads-another"
    inputs = {"conv4": ("neuron2",)}


class ProjectionWithoutNorm(Rewired):
    """The projection on the shortcut lacks its norm."""

    name = "wrong-projection-without-norm"
    inputs = {"add3": ("norm8", "conv6")}


class ShortcutFromTheBranch(Rewired):
    """The shortcut begins behind the block's first layer."""

    name = "wrong-shortcut-from-the-branch"
    inputs = {"add1": ("norm3", "neuron2")}


class SpikesAddedBeforeTheNeuron(Rewired):
    """A block's shortcut is added in front of its neuron, as if spikes were currents."""

    name = "wrong-added-before-the-neuron"

    def program(self, case, network):
        nodes = []
        for node in network.nodes:
            if node.name == "neuron3":
                nodes.append(
                    replace(network.node("add1"), name="early", inputs=("norm3", "max_pool1"))
                )
                node = replace(node, inputs=("early",))
            nodes.append(node)
        return TorchLoop.program(self, case, Network(network.input, tuple(nodes)))


class NeuronWithoutShortcut(Rewired):
    """A neuron reads the branch alone: the sum comes after it, if at all."""

    name = "wrong-neuron-without-shortcut"
    inputs = {"neuron3": ("norm3",)}


class PotentialsInsteadOfSpikes(Rewired):
    """A convolution reads the currents of the neuron that it should read the spikes of."""

    name = "wrong-neuron-left-out"
    inputs = {"conv2": ("norm1",)}


class EpsilonOfKeras(Rewired):
    """Every norm has an epsilon of 1e-3."""

    name = "wrong-epsilon-of-keras"
    kind, all_have = "norm", {"epsilon": 1e-3}


class MomentumTurned(Rewired):
    """The running statistics keep 0.1 of what they were, not 0.9."""

    name = "wrong-momentum-turned"
    kind, all_have = "norm", {"momentum": 0.9}


class OneThreshold(Rewired):
    """One neuron has another threshold."""

    name = "wrong-one-threshold"
    options = {"neuron3": {"threshold": 1.1}}


class NotPadded(Rewired):
    """The convolution does not pad its image."""

    name = "wrong-not-padded"
    options = {"conv1": {"padding": 0}}


class StrideTwo(Rewired):
    """The convolution has a stride of 2, not 1."""

    name = "wrong-stride-two"
    options = {"conv1": {"stride": 2}}


class NowherePadded(Rewired):
    """No convolution pads its image, and the first linear has fewer inputs."""

    name = "wrong-nowhere-padded"
    kind, all_have = "conv", {"padding": 0}


class KernelOfFive(Rewired):
    """The convolution has a kernel of 5 × 5, padded so that its image keeps its size."""

    name = "wrong-kernel-of-five"
    options = {"conv1": {"kernel": 5, "padding": 2}}


class PoolNotPadded(Rewired):
    """The pool behind the first neuron lacks its padding."""

    name = "wrong-pool-not-padded"
    options = {"max_pool1": {"padding": 0}}
