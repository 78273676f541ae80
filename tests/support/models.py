"""Small ONNX models for tests of the server, made here so that nothing is downloaded. One function per model."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# protocol type → ONNX element type; BYTES is a string tensor
ELEMENT = {
    "BOOL": TensorProto.BOOL, "UINT8": TensorProto.UINT8, "UINT16": TensorProto.UINT16, "UINT32": TensorProto.UINT32,
    "UINT64": TensorProto.UINT64, "INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT32": TensorProto.INT32,
    "INT64": TensorProto.INT64, "FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE,
    "BYTES": TensorProto.STRING, "BF16": TensorProto.BFLOAT16,
}


def save(path, nodes, inputs, outputs, initializers=(), opsets=()):
    """inputs/outputs: (name, protocol type, dims) with strings as symbolic dims."""
    graph = helper.make_graph(
        nodes, "test",
        [helper.make_tensor_value_info(n, ELEMENT[t], d) for n, t, d in inputs],
        [helper.make_tensor_value_info(n, ELEMENT[t], d) for n, t, d in outputs],
        list(initializers),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in (("", 17), *opsets)],
                              ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def identity(path, datatype="FP32", dims=("batch", 16)):
    save(path, [helper.make_node("Identity", ["x"], ["y"])], [("x", datatype, list(dims))],
         [("y", datatype, list(dims))])


def encoder(path, table, segments=None):
    """Hidden states of a text: each token's row of `table` and the mean of them all, but of padding; `segments`: also a
    row for its token_type_ids."""
    integers = ["batch", "tokens"]
    inputs = [("input_ids", "INT64", integers), ("attention_mask", "INT64", integers)]
    constants = [numpy_helper.from_array(table.astype(np.float32), "table"),
                 numpy_helper.from_array(np.array([1]), "one"), numpy_helper.from_array(np.array([2]), "two")]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"])]
    if segments is not None:
        inputs.append(("token_type_ids", "INT64", integers))
        constants.append(numpy_helper.from_array(segments.astype(np.float32), "segments"))
        nodes += [helper.make_node("Gather", ["segments", "token_type_ids"], ["segment"]),
                  helper.make_node("Add", ["rows", "segment"], ["all"])]
    rows = nodes[-1].output[0]
    nodes += [
        helper.make_node("Cast", ["attention_mask"], ["flat"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["flat", "two"], ["mask"]),
        helper.make_node("Mul", [rows, "mask"], ["kept"]), helper.make_node("ReduceSum", ["kept", "one"], ["sum"]),
        helper.make_node("ReduceSum", ["mask", "one"], ["count"]), helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("Add", [rows, "mean"], ["last_hidden_state"])]
    save(path, nodes, inputs, [("last_hidden_state", "FP32", [*integers, table.shape[1]])], constants)


def trees(path):
    """y = x[0] < 0.5 ? 1 : 2 by a tree, whose numbers are attributes of its node: no rule counts its work."""
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0], nodes_values=[0.5, 0.0, 0.0], nodes_modes=["BRANCH_LT", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
        target_weights=[1.0, 2.0])
    save(path, [node], [("x", "FP32", ["batch", 4])], [("y", "FP32", ["batch", 1])], opsets=(("ai.onnx.ml", 3),))


def fake(folder, config="", **script):
    """A model of the fake engine in `folder`: x → y, FP32 [-1,16]; the members of its script are in
    docs/contracts.md."""
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.fake.json").write_text(json.dumps(script))
    (folder / "config.pbtxt").write_text('backend: "fake"\ndefault_model_filename: "model.fake.json"\n' + config)


def scaled(path, factor, dims=("batch", 4)):
    """y = factor · x; tells versions and reloads apart."""
    save(path, [helper.make_node("Mul", ["x", "factor"], ["y"])], [("x", "FP32", list(dims))],
         [("y", "FP32", list(dims))], [helper.make_tensor("factor", TensorProto.FLOAT, [1], [factor])])


def add_sub(path, datatype="INT32", dims=("batch", 16)):
    """Triton's `simple`: OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 − INPUT1."""
    save(path, [helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
                helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"])],
         [("INPUT0", datatype, list(dims)), ("INPUT1", datatype, list(dims))],
         [("OUTPUT0", datatype, list(dims)), ("OUTPUT1", datatype, list(dims))])


def steps(path):
    """Runs a 256×256 matrix multiplication n[0] times: a request chooses how long it takes. n INT64 [1] → done INT64
    [1]."""
    body = helper.make_graph(
        [helper.make_node("MatMul", ["state", "weight"], ["next"]), helper.make_node("Identity", ["go"], ["go_on"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, [256, 256])],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", TensorProto.FLOAT, [256, 256])],
    )
    weight = (np.eye(256, dtype=np.float32) * 0.999).tobytes()
    save(path,
         [helper.make_node("Squeeze", ["n"], ["count"]),
          helper.make_node("Loop", ["count", "yes", "start"], ["end"], body=body),
          helper.make_node("Shape", ["end"], ["shape"]),
          helper.make_node("ReduceMin", ["shape"], ["least"], keepdims=1),
          helper.make_node("Add", ["n", "least"], ["sum"]), helper.make_node("Sub", ["sum", "least"], ["done"])],
         [("n", "INT64", [1])], [("done", "INT64", [1])],
         [helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
          helper.make_tensor("start", TensorProto.FLOAT, [256, 256], weight, raw=True),
          helper.make_tensor("weight", TensorProto.FLOAT, [256, 256], weight, raw=True)])


def endless(path):
    """A loop that does not end: x FP32 [1] → y FP32 [1]."""
    body = helper.make_graph(
        [helper.make_node("Mul", ["state", "factor"], ["next"]), helper.make_node("Identity", ["go"], ["go_on"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", TensorProto.FLOAT, [1])],
        [helper.make_tensor("factor", TensorProto.FLOAT, [1], [0.5])],
    )
    save(path, [helper.make_node("Loop", ["count", "yes", "x"], ["y"], body=body)], [("x", "FP32", [1])],
         [("y", "FP32", [1])],
         [helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
          helper.make_tensor("count", TensorProto.INT64, [], [2**62])])


def fails_on_zero(path):
    """Integer division: a zero in `d` makes the engine fail while running (Gather with a bad index)."""
    save(path, [helper.make_node("Gather", ["table", "x"], ["y"])], [("x", "INT64", ["batch", 1])],
         [("y", "FP32", ["batch", 1])], [helper.make_tensor("table", TensorProto.FLOAT, [4], [0.0, 10.0, 20.0, 30.0])])


def squeeze_batch(path):
    """x FP32 [batch] → y FP32 [batch]: needs reshape {shape: []} behind a config dims [1]."""
    save(path, [helper.make_node("Neg", ["x"], ["y"])], [("x", "FP32", ["batch"])], [("y", "FP32", ["batch"])])


def optional_sum(path):
    """y = x + bias where bias has a default value in the model, so that a client may leave it out."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "bias"], ["y"])], "optional",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]),
         helper.make_tensor_value_info("bias", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        [helper.make_tensor("bias", TensorProto.FLOAT, [4], [100.0] * 4)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def classifier(path):
    """A small image classifier: image FP32 [batch,3,32,32] → scores [batch,10]."""
    random = np.random.default_rng(1)

    def weight(name, *dims):
        values = random.standard_normal(dims, dtype=np.float32) * np.sqrt(2 / np.prod(dims[1:]))
        return helper.make_tensor(name, TensorProto.FLOAT, dims, values.astype(np.float32).tobytes(), raw=True)

    save(path,
         [helper.make_node("Conv", ["image", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
          helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
          helper.make_node("Conv", ["r1", "w2"], ["c2"], "conv2", pads=[1, 1, 1, 1], strides=[2, 2]),
          helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
          helper.make_node("GlobalAveragePool", ["r2"], ["p"], "pool"),
          helper.make_node("Flatten", ["p"], ["f"], "flatten"),
          helper.make_node("Gemm", ["f", "w3"], ["scores"], "classify", transB=1)],
         [("image", "FP32", ["batch", 3, 32, 32])], [("scores", "FP32", ["batch", 10])],
         [weight("w1", 32, 3, 3, 3), weight("w2", 64, 32, 3, 3), weight("w3", 10, 64)])


def products(path, name="first", width=64):
    """Two matrix multiplications, the first of that name, and an addition whose bytes limit it."""
    weights = [helper.make_tensor(each, TensorProto.FLOAT, [width, width], [0.5] * width * width)
               for each in ("w1", "w2")]
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name=name),
             helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("MatMul", ["b", "w2"], ["c"], name="second"),
             helper.make_node("Add", ["c", "a"], ["y"], name="sum")]
    save(path, nodes, [("x", "FP32", ["batch", width])], [("y", "FP32", ["batch", width])], weights)


def accumulator(path, sign=1):
    """A stateful model as Triton's examples: OUTPUT = INPUT + (1 − START) · STATE, and NEXT the same for the next
    request of the sequence. INPUT, OUTPUT, STATE, NEXT INT32 [batch,1], START and READY INT32 [batch,1]; sign −1 gives
    −OUTPUT, to tell reloads apart."""
    nodes = [helper.make_node("Sub", ["one", "START"], ["goes_on"]),
             helper.make_node("Mul", ["STATE", "goes_on"], ["before"]),
             helper.make_node("Mul", ["INPUT", "READY"], ["ready"]),
             helper.make_node("Add", ["ready", "before"], ["NEXT"]),
             helper.make_node("Mul", ["NEXT", "sign"], ["OUTPUT"])]
    tensor = ("INT32", ["batch", 1])
    save(path, nodes, [(name, *tensor) for name in ("INPUT", "START", "READY", "STATE")],
         [(name, *tensor) for name in ("OUTPUT", "NEXT")],
         [helper.make_tensor("one", TensorProto.INT32, [1], [1]),
          helper.make_tensor("sign", TensorProto.INT32, [1], [sign])])


def controls(path, id_type="UINT64"):
    """Shows what a request of a sequence is given, without a state:

    X and its row of the batch, how many rows are ready, and the controls.
    """
    nodes = [helper.make_node("Identity", [name], [name + "_OUT"]) for name in ("START", "END", "ID")]
    nodes += [helper.make_node("Identity", ["X"], ["Y"]),
              helper.make_node("Cast", ["READY"], ["ready"], to=TensorProto.INT64),
              helper.make_node("CumSum", ["ones", "axis"], ["numbers"]),
              helper.make_node("Sub", ["numbers", "one"], ["ROW"]),
              helper.make_node("Shape", ["X"], ["shape"]), helper.make_node("Expand", ["one", "shape"], ["ones"]),
              helper.make_node("ReduceSum", ["ready", "axes"], ["sum"], keepdims=1),
              helper.make_node("Mul", ["sum", "ones"], ["ALL_READY"])]
    one = ["batch", 1]
    save(path, nodes, [("X", "FP32", one), ("START", "FP32", one), ("END", "BOOL", one), ("READY", "INT32", one),
                       ("ID", id_type, one)],
         [("Y", "FP32", one), ("START_OUT", "FP32", one), ("END_OUT", "BOOL", one), ("ID_OUT", id_type, one),
          ("ROW", "INT64", one), ("ALL_READY", "INT64", one)],
         [helper.make_tensor("one", TensorProto.INT64, [1, 1], [1]),
          helper.make_tensor("axis", TensorProto.INT64, [], [0]),
          helper.make_tensor("axes", TensorProto.INT64, [1], [0])])
