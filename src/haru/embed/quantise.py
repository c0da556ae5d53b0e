"""Quantise: MiniLM in true 8-bit arithmetic, computed in less than half the time of the packaged file.

The packaged file holds its weights in 8 bits but computes in floating point. Here the weights are unfolded and
quantised again for integer arithmetic. Activations are measured at run time, so no calibration data is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def possible() -> bool:
    """Whether the package ``onnx``, which rewrites model files, is installed."""
    return find_spec("onnx") is not None


def quantise(source: Path, target: Path) -> None:
    """Write the 8-bit form of a model file; takes seconds. The target appears whole or not at all.

    Raises:
        OSError: the target cannot be written.
        ImportError: ``onnx`` or ``onnxruntime`` is not installed.
    """
    tool = import_module("onnxruntime.quantization")
    model = _unfolded(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as folder:
        fresh = Path(folder) / target.name
        tool.quantize_dynamic(
            model,
            fresh,
            op_types_to_quantize=["MatMul", "Gather"],
            weight_type=tool.QuantType.QInt8,
            per_channel=True,
            reduce_range=True,  # processors without VNNI add up in 16 bits, which 8-bit weights would overflow
        )
        with fresh.open("rb+") as file:
            os.fsync(file.fileno())
        fresh.replace(target)


def quantise_apart(source: Path, target: Path) -> str:
    """`quantise` in a process of its own, which gives back the half gigabyte it needs; "" or what went wrong."""
    command = [sys.executable, "-m", __spec__.name, str(source), str(target)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, errors="replace", check=False)
    except OSError as error:
        return str(error)
    last = done.stderr.strip().rpartition("\n")[2]
    return (last or f"exit status {done.returncode}") if done.returncode else ""


def _unfolded(source: Path) -> Any:
    """The model with each pair "8-bit weights to floating point, times scale" computed once and for all."""
    onnx = import_module("onnx")
    model = onnx.load(source)
    graph = model.graph
    constants = {constant.name: constant for constant in graph.initializer}
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast" and node.input[0] in constants}
    for node in list(graph.node):
        if node.op_type != "Mul" or node.input[0] not in casts or node.input[1] not in constants:
            continue
        cast, scale = casts[node.input[0]], constants[node.input[1]]
        small = constants[cast.input[0]]
        weights = onnx.numpy_helper.to_array(small) * onnx.numpy_helper.to_array(scale)
        graph.initializer.append(onnx.numpy_helper.from_array(weights, node.output[0]))
        for used in (node, cast):
            graph.node.remove(used)
        for used in (small, scale):
            graph.initializer.remove(used)
    _mark_prepared(model)
    return model


def _mark_prepared(model: Any) -> None:
    """Keep the quantiser from advising, on the root logger, to prepare a model that is as it should be."""
    mark = model.metadata_props.add()
    mark.key, mark.value = "onnx.quant.pre_process", "onnxruntime.quant"


if __name__ == "__main__":
    quantise(Path(sys.argv[1]), Path(sys.argv[2]))
