"""Reads the arrays of NIR nodes. Raises NetworkFault, with the node, if there is no equivalent
here."""

from typing import Any

import numpy as np

from ...core.network import Shape
from .file import NirNode


def array(node: NirNode, name: str) -> np.ndarray:
    """Returns an array of finite numbers as float64."""
    if name not in node.arrays:
        raise node.fault(f"{node.type} lacks the array {name!r}")
    values = node.arrays[name]
    if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise node.fault(f"{name} must hold finite numbers")
    return values.astype(np.float64)


def over_features(node: NirNode, name: str, shape: Shape) -> np.ndarray:
    """Returns an array with one number for all features, for each channel, or for each feature, as
    one of `shape`."""
    values = array(node, name)
    if values.size == 1:
        return np.full(shape, values.reshape(()))
    try:
        return np.array(np.broadcast_to(values, shape))
    except ValueError:
        raise node.fault(
            f"{name} has shape {values.shape}, which {shape} features do not have"
        ) from None


def uniform(node: NirNode, name: str, shape: Shape) -> float:
    """Returns the number that is the same for all features."""
    values = over_features(node, name, shape)
    if np.any(values != values.flat[0]):
        raise node.fault(f"{name} differs from neuron to neuron, which is not imported")
    return float(values.flat[0])


def input_shape(node: NirNode) -> Shape:
    """Returns the features (N,) or (C, H, W) of an Input node, without the batch of 1 that some
    exporters write."""
    values = array(node, "shape")
    sizes = tuple(int(size) for size in values.reshape(-1))
    sizes = sizes[1:] if len(sizes) in (2, 4) and sizes[0] == 1 else sizes
    if (
        values.ndim != 1
        or len(sizes) not in (1, 3)
        or min(sizes) < 1
        or any(values != np.round(values))
        or max(sizes) > 1 << 24
    ):
        raise node.fault(f"has the shape {values.tolist()}; features are (N,) or (C, H, W)")
    return sizes


def groups(node: NirNode) -> int:
    """Returns the number of groups of a convolution."""
    count = uniform(node, "groups", ())
    if count != round(count) or not 1 <= count <= 1 << 16:
        raise node.fault(f"groups = {count:g} must be a whole number of at least 1")
    return int(count)


def weights(
    node: NirNode, inputs: int, dimensions: int, groups: int = 1
) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns the weight (outputs, inputs / groups, …), and the bias or None."""
    weight = array(node, "weight")
    if weight.ndim != dimensions or groups * weight.shape[1] != inputs or not weight.size:
        raise node.fault(f"the weight has shape {weight.shape}, and it reads {inputs} features")
    if "bias" not in node.arrays:
        if node.type == "Affine":
            raise node.fault("Affine lacks the array 'bias'")
        return weight, None
    bias = array(node, "bias")
    if bias.shape != weight.shape[:1]:
        raise node.fault(f"the bias has shape {bias.shape}, not {weight.shape[:1]}")
    return weight, bias


def window(node: NirNode, kernel: int | None = None) -> dict[str, Any]:
    """Returns kernel, stride and padding of a convolution with a given kernel, or of a pool."""
    if kernel is None:
        kernel = _square(node, "kernel_size")
    stride = _square(node, "stride")
    text = node.arrays.get("padding", np.zeros(()))
    if text.dtype.kind in "US":
        padding = {"valid": 0, "same": kernel // 2}.get(str(text), -1)
        if padding < 0 or (str(text) == "same" and (stride != 1 or kernel % 2 == 0)):
            raise node.fault(
                f"padding {str(text)!r} is imported for odd kernels and a stride of 1 only"
            )
    else:
        padding = _square(node, "padding", least=0)
    return {"kernel": kernel, "stride": stride, "padding": padding}


def check_convolution(node: NirNode, weight: np.ndarray) -> None:
    if weight.shape[2] != weight.shape[3]:
        raise node.fault(f"a kernel of {weight.shape[2:]} is not imported, which is no square")
    if _square(node, "dilation") != 1:
        raise node.fault("a dilated convolution is not imported")


def _square(node: NirNode, name: str, least: int = 1) -> int:
    """Returns a number of pixels that is the same in height and width."""
    values = array(node, name).reshape(-1)
    if not 1 <= len(values) <= 2 or np.any(values != values[0]):
        raise node.fault(
            f"{name} = {values.tolist()} is not imported, which differs in height and width"
        )
    if values[0] != round(values[0]) or not least <= values[0] <= 1 << 16:
        raise node.fault(f"{name} = {values[0]:g} must be a whole number of at least {least}")
    return int(values[0])
