#!/usr/bin/env python3
"""Compares the FLOPs that `ridge plan` counts with an independent counter, PyPI's onnx-tool, operator by operator.

The two count by different conventions: onnx-tool prints "MACs" in which a multiply-add is 1, and elementary functions
cost instructions (exp 32, division 4, square root 24, logarithm 43). So each operator gets one of these verdicts:

  agree      the figures are equal within 1 % (a multiply-add counted as 2 on both sides) explained  they differ by a
  convention: onnx-tool's figure, converted by the row of CONVENTIONS below from the shapes that
             onnx-tool inferred, equals ridge's within 1 %; the row says what differs
             (nodes that depend on weights only are left out on both sides: engines compute them once, when they load)
  no count   onnx-tool has no count for the operator and returns 0; ridge's figure is checked against the row's formula
  DIFFERS    anything else: exit status 1

Models: the nine light_*.onnx of the onnx package and ridge's reference models.
Usage: flops_vs_onnx_tool.py [--ridge build/release/ridge] [--models DIR] [MODEL.onnx ...]
"""

import argparse
import collections
import contextlib
import glob
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import onnx_tool

EXP, LOG, DIV, SQRT = 32, 43, 4, 24  # onnx-tool's costs of elementary functions
REFERENCE_MODELS = {  # name: shapes of the inputs; None: 1 for every open dimension
    "resnet50": {"input": (1, 3, 224, 224)},
    "bert-base": {"input_ids": (1, 128), "attention_mask": (1, 128), "token_type_ids": (1, 128)},
    "yolov8x": {"images": (1, 3, 640, 640)},
    "sd-unet": {"sample": (1, 4, 64, 64), "timestep": (1,), "encoder_hidden_states": (1, 77, 768)},
    "mlp": None,
    "identity": None,
}


def volume(shape):
    return math.prod(shape)


class Node:
    """One node of onnx-tool's graph after profiling."""

    def __init__(self, graph, node):
        self.op = node.op_type
        self.count = node.macs[0]
        self.attributes = node.attr
        self.inputs = [list(graph.tensormap[name].get_shape()) if name else None for name in node.input]
        self.outputs = [list(graph.tensormap[name].get_shape()) for name in node.output if name]

    def attribute(self, name, otherwise):
        value = self.attributes.get(name, otherwise)
        return value.decode() if isinstance(value, bytes) else value

    @property
    def out(self):
        return volume(self.outputs[0])

    @property
    def into(self):
        return volume(self.inputs[0])

    def has(self, i):
        return len(self.inputs) > i and self.inputs[i] is not None


def taps(node):
    """Elements under all positions of a pooling window, without padding, by walking over them."""
    kernel = node.attribute("kernel_shape", None)
    rank = len(kernel)
    strides = node.attribute("strides", [1] * rank)
    pads = node.attribute("pads", [0] * 2 * rank)
    product = 1
    for d in range(rank):
        size, positions = node.inputs[0][2 + d], node.outputs[0][2 + d]
        begin = pads[d]
        if node.attribute("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
            total = max(0, (positions - 1) * strides[d] + kernel[d] - size)
            begin = total // 2 if node.attribute("auto_pad", "") == "SAME_UPPER" else (total + 1) // 2
        product *= sum(0 <= p * strides[d] - begin + k < size for p in range(positions) for k in range(kernel[d]))
    return product * volume(node.outputs[0][:2])


def permuted_resize(node):
    """2·t^d − 1 per output element, t neighbours in each of the d resized dimensions."""
    neighbours = {"nearest": 1, "linear": 2, "cubic": 4}[node.attribute("mode", "nearest")]
    samples = math.prod(neighbours for a, b in zip(node.inputs[0], node.outputs[0]) if a != b)
    return node.out * (2 * samples - 1 if samples > 1 else 0)


def multiply_adds(node):
    bias = node.out if node.has(2) else 0
    return 2 * (node.count - bias) + bias


def per_output(theirs, ours):
    """Both are proportional to the output: `theirs` and `ours` per element."""
    return lambda node: node.count * ours / theirs


# Operator → (onnx-tool's count of a node, in ridge's convention; what differs).
CONVENTIONS = {
    "Conv": (multiply_adds, "a bias addition is 1 MAC there and 1 FLOP here"),
    "Gemm": (multiply_adds, "a bias addition is 1 MAC there and 1 FLOP here"),
    "BatchNormalization": (per_output(2 + SQRT + DIV + 1, 2),
                           "31 per element there, with the root and the division of the "
                           "statistics for each element; here a·x + b with a and b fixed: 2"),
    "Softmax": (per_output(EXP + DIV, 5), "exp 32 + division 4 there; maximum, difference, exp, sum, division here: 5"),
    "LRN": (lambda n: n.count * (n.attribute("size", 1) + 4) / (DIV + EXP + 1 + n.attribute("size", 1)),
            "power 32 + division 4 + 1 + size there; size + 4 here"),
    "MaxPool": (taps, "there every tap, here without those on padding (recounted by walking over the window)"),
    "AveragePool": (taps, "there every tap, here without those on padding (recounted by walking over the window)"),
    "GlobalAveragePool": (lambda n: n.count - DIV * n.out,
                          "the division of each output is 4 there; here k elements are k"),
    "Sigmoid": (per_output(EXP, 4), "there exp 32 alone; here 1 / (1 + exp(−x)): 4"),
    "Tanh": (per_output(2 * (EXP + 2 + DIV), 1), "76 there (its ratio doubles 38); an elementary function here: 1"),
    "Exp": (per_output(EXP, 1), "32 there, 1 here"),
    "Pow": (per_output(EXP, 1), "32 there, 1 here"),
    "Sqrt": (per_output(SQRT, 1), "24 there, 1 here"),
    "Log": (per_output(LOG, 1), "43 there, 1 here"),
    "Sin": (per_output(39, 1), "39 there, 1 here"),
    "Cos": (per_output(39, 1), "39 there, 1 here"),
    "Div": (per_output(DIV, 1), "4 there, 1 here"),
    "Reciprocal": (per_output(DIV, 1), "4 there, 1 here"),
    "InstanceNormalization": (per_output(7, 7), ""),
    "LayerNormalization": (lambda n: 7 * n.out, "per row there a root, a division and an addition more"),
    "ReduceMean": (lambda n: n.into + n.out, "the division of each output is not counted there"),
    "Resize": (permuted_resize, "4 per element there in any number of dimensions; 2·t^d − 1 here"),
    "Clip": (lambda n: n.out * sum(n.has(i) for i in (1, 2)), "there always both bounds"),
    "Erf": (lambda n: n.out, "elementary function: 1"),
    "Cast": (lambda n: n.out, "one conversion per element, 0 if the type stays"),
    "Where": (lambda n: n.out, "one selection per element"),
    "ArgMax": (lambda n: n.into, "one comparison per element"),
    "Range": (lambda n: n.out, "1 per element"),
}


def onnx_tool_nodes(path, inputs):
    """Nodes with their counts; onnx-tool talks a lot."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        model = onnx_tool.Model(path)
        graph = model.graph
        given = None
        if inputs:
            kinds = {i.name: onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)
                     for i in onnx.load(path, load_external_data=False).graph.input}
            given = {name: numpy.zeros(shape, dtype=kinds[name]) for name, shape in inputs.items()}
        graph.shape_infer(given)
        graph.profile()
    return {name: Node(graph, node) for name, node in graph.nodemap.items()}, graph


def ridge_layers(ridge, path, inputs):
    command = [ridge, "plan", path, "--json"]
    for name, shape in (inputs or {}).items():
        command += ["--shape", name + "=" + "x".join(map(str, shape))]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def by_operator(entries):
    groups = collections.defaultdict(list)
    for op, entry in entries:
        groups[op].append(entry)
    return groups


def near(a, b):
    return abs(a - b) <= 0.01 * max(abs(a), abs(b))


def verdict(op, ours, nodes):
    """(verdict, onnx-tool's figure in ridge's convention, reason)"""
    theirs = sum(node.count for node in nodes)
    for factor in (1, 2):
        if near(ours, factor * theirs):
            return "agree", factor * theirs, ""
    if op not in CONVENTIONS:
        return "DIFFERS", theirs, "no convention is known for this operator"
    convert, reason = CONVENTIONS[op]
    converted = sum(convert(node) for node in nodes)
    if op == "Cast" and ours <= converted:
        return "no count", ours, reason
    if not near(ours, converted):
        return "DIFFERS", converted, reason
    return ("explained" if theirs else "no count"), converted, reason


def compare(ridge, path, inputs, reasons):
    """Prints one model's table; the number of operators that differ without an explanation."""
    name = os.path.basename(path)
    plan = ridge_layers(ridge, path, inputs)
    nodes, _ = onnx_tool_nodes(path, inputs)
    # Computed when the model is loaded
    idle = {layer["name"] for layer in plan["layers"] if not layer.get("runs", True)}
    theirs = by_operator((node.op, node) for name, node in nodes.items() if name not in idle)
    ours = by_operator((layer["op"], layer["flops"]) for layer in plan["layers"] if layer.get("runs", True))
    print(f"\n{name}: ridge {plan['flops'] / 1e9:.4f} GFLOP, {plan['macs'] / 1e9:.4f} GMAC, "
          f"{plan['params'] / 1e6:.3f} M parameters")
    print(f"  {'operator':24}{'nodes':>6}{'ridge [MFLOP]':>16}{'onnx-tool [M]':>16}{'converted':>16}{'ratio':>9}  "
          "verdict")
    wrong, total_converted = 0, 0.0
    for op in sorted(set(ours) | set(theirs), key=lambda op: -sum(ours.get(op, [0]))):
        mine, raw = sum(ours.get(op, [])), sum(node.count for node in theirs.get(op, []))
        if not mine and not raw:
            continue
        word, converted, reason = verdict(op, mine, theirs.get(op, []))
        total_converted += converted
        wrong += word == "DIFFERS"
        if reason:
            reasons[op] = reason
        ratio = f"{mine / converted:.4f}" if converted else "-"
        print(f"  {op:24}{len(theirs.get(op, [])):6}{mine / 1e6:16.3f}{raw / 1e6:16.3f}{converted / 1e6:16.3f}"
              f"{ratio:>9}  {word}")
    print(f"  {'sum':24}{'':6}{plan['flops'] / 1e6:16.3f}{'':16}{total_converted / 1e6:16.3f}"
          f"{plan['flops'] / total_converted if total_converted else 1:9.4f}")
    return wrong


def light_models():
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    return sorted(glob.glob(os.path.join(folder, "light_*.onnx")))


def make_reference_models(ridge, folder):
    for name, inputs in REFERENCE_MODELS.items():
        path = os.path.join(folder, name + ".onnx")
        if not os.path.exists(path):
            subprocess.run([ridge, "make", name, "-o", path], check=True, capture_output=True)
        if inputs is None:
            inputs = {i.name: tuple(d.dim_value or 1 for d in i.type.tensor_type.shape.dim)
                      for i in onnx.load(path, load_external_data=False).graph.input}
        yield path, inputs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ridge", default="build/release/ridge")
    parser.add_argument("--models", default="", help="folder for the reference models; kept if given")
    parser.add_argument("files", nargs="*", help="models with fixed shapes instead of the built-in list")
    options = parser.parse_args()
    reasons, wrong = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        if options.models:
            os.makedirs(options.models, exist_ok=True)
        todo = [(path, None) for path in options.files or light_models()]
        if not options.files:
            todo += make_reference_models(options.ridge, options.models or scratch)
        for path, inputs in todo:
            wrong += compare(options.ridge, path, inputs, reasons)
    print("\nConventions that differ:")
    for op, reason in sorted(reasons.items()):
        print(f"  {op:24}{reason}")
    print("\n" + ("every operator agrees or is explained" if not wrong else f"{wrong} operators DIFFER"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
