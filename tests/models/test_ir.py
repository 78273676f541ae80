"""OpenVINO's IR: its work is that of the ONNX model it was converted from, and it is described, measured and served."""
# ctest: timeout 600

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from server import Server, fp32

RIDGE, DEPS = os.environ["RIDGE"], os.environ["RIDGE_DEPS"]
PLUGINS = sorted(pathlib.Path(RIDGE).parent.glob("libridge_openvino.so.*"))
pytestmark = pytest.mark.skipif(not PLUGINS, reason="ridge was built without OpenVINO's plugin")

# name, options of ridge make, --shape of the ONNX file, --shape of the IR, which has no symbols
MODELS = [
    ("resnet50", [], [], []),
    ("bert-base", [], ["sequence=16"], ["input_ids=1x16", "attention_mask=1x16", "token_type_ids=1x16"]),
    ("yolov8x", ["--image-size", "64"], [], []),
    ("sd-unet", ["--channels", "32", "--image-size", "64"], [], []),
    ("mlp", [], [], []),
]


def ridge(*arguments, **options):
    found = subprocess.run([RIDGE, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)
    return found.returncode, found.stdout, found.stderr


def convert(source, compress=False):
    """In a process of its own: OpenVINO's Python module and ridge's libraries are kept apart."""
    target = source.with_suffix(".xml")
    script = ("import sys, openvino as ov; "
              "ov.save_model(ov.convert_model(sys.argv[1]), sys.argv[2], compress_to_fp16=sys.argv[3] == 'True')")
    subprocess.run([sys.executable, "-c", script, source, target, str(compress)], check=True, capture_output=True,
                   env={**os.environ, "PYTHONPATH": f"{DEPS}/openvino"})
    return target


def plan(model, shapes=()):
    """On a device of the catalogue, so that nothing is measured."""
    status, out, err = ridge("plan", model, "-d", "T4", "--json",
                             *[word for shape in shapes for word in ("--shape", shape)])
    assert status == 0, err
    return json.loads(out)


def save(path, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs],
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs],
                              [numpy_helper.from_array(np.full(shape, 0.01, np.float32), name) for name,
                               shape in weights])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                       ir_version=9).SerializeToString())
    return path


@pytest.mark.parametrize("name,options,onnx_shapes,ir_shapes", MODELS, ids=[model[0] for model in MODELS])
def test_the_work_of_ir_is_that_of_the_onnx_model_it_came_from(tmp_path, name, options, onnx_shapes, ir_shapes):
    source = tmp_path / f"{name}.onnx"
    assert ridge("make", name, "-o", source, *options)[0] == 0
    own, converted = plan(source, onnx_shapes), plan(convert(source), ir_shapes)
    assert converted["macs"] == own["macs"]
    # The conversion folds normalisations into weights and joins additions, so that what is no multiply-add differs a
    # little.
    assert converted["flops"] == pytest.approx(own["flops"], rel=0.01)
    assert converted["params"] == pytest.approx(own["params"], rel=0.01)
    assert "without_rule" not in converted or converted["without_rule"] == []


def test_recurrent_layers_and_groups_count_alike(tmp_path):
    units = 8
    source = save(
        tmp_path / "mixed.onnx",
        [helper.make_node("Conv", ["x", "w"], ["c"], group=2, pads=[1, 1, 1, 1], strides=[2, 1], name="grouped"),
         helper.make_node("ReduceMean", ["c"], ["m"], axes=[2], keepdims=0, name="mean"),
         helper.make_node("Transpose", ["m"], ["t"], perm=[2, 0, 1], name="turn"),
         helper.make_node("LSTM", ["t", "W", "R", "B"], ["y"], hidden_size=units, direction="bidirectional",
                          name="lstm")],
        [("x", ["batch", 4, 16, 12])], [("y", [12, 2, "batch", units])],
        [("w", (6, 2, 3, 3)), ("W", (2, 4 * units, 6)), ("R", (2, 4 * units, units)), ("B", (2, 8 * units))])
    own, converted = plan(source), plan(convert(source))
    assert converted["macs"] == own["macs"] > 0
    assert converted["flops"] == pytest.approx(own["flops"], rel=0.01)


def test_compressed_weights_are_counted_as_stored(tmp_path):
    source = save(tmp_path / "dense.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")],
                  [("x", ["batch", 256])], [("y", ["batch", 512])], [("w", (256, 512))])
    own, half = plan(source), plan(convert(source, compress=True))
    assert half["macs"] == own["macs"]
    assert half["weight_bytes"] == own["weight_bytes"] / 2


def test_ir_is_described_and_measured_but_not_tuned(tmp_path):
    source = save(tmp_path / "dense.onnx",
                  [helper.make_node("MatMul", ["x", "w"], ["p"], name="dense"),
                   helper.make_node("Relu", ["p"], ["y"], name="clip")],
                  [("x", ["batch", 64])], [("y", ["batch", 32])], [("w", (64, 32))])
    ir = convert(source)
    status, out, err = ridge(ir)
    assert status == 0, err
    assert "OpenVINO IR, by OpenVINO" in out and "x FP32 [?,64]" in out and "ridge tune" not in out, out
    status, out, err = ridge("bench", ir, "--batch", 3, "--seconds", 1, "--ci", 50, "--layers", "--json")
    assert status == 0, err
    measured = json.loads(out)
    assert (measured["engine"], measured["batch"], measured["flops"]) == ("openvino", 3, 3 * (2 * 64 * 32 + 32))
    assert "dense" in {node for layer in measured["layers"] for node in layer["nodes"]}, measured["layers"]
    status, _, err = ridge("bench", ir, "--engine", "onnxruntime")
    assert status == 2 and "own format" in err, err
    status, _, err = ridge("tune", ir, "-o", tmp_path / "repo")
    assert status in (2, 3) and "give the .onnx file that it was made from" in err, err


def test_ir_is_served_under_its_name_and_from_a_repository(tmp_path):
    source = save(tmp_path / "dense.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", ["batch", 64])],
                  [("y", ["batch", 32])], [("w", (64, 32))])
    ir = convert(source)
    version = tmp_path / "repo" / "kept" / "1"
    version.mkdir(parents=True)
    for file in (ir, ir.with_suffix(".bin")):
        (version / ("model" + file.suffix)).write_bytes(file.read_bytes())
    for path, name in ((ir, "dense"), (tmp_path / "repo", "kept")):
        with Server(path) as server:
            answer = server.post(f"/v2/models/{name}/infer", json.dumps({"inputs": [fp32("x", [2, 64], [1.0] * 128)]}))
            assert answer.status == 200, answer.body
            np.testing.assert_allclose(answer.json()["outputs"][0]["data"], [0.64] * 64, rtol=1e-4)
            assert server.get(f"/v2/models/{name}").json()["platform"] == "openvino"


def test_a_damaged_file_is_refused_with_a_reason_and_ends_nothing(tmp_path):
    source = save(tmp_path / "dense.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", ["batch", 64])],
                  [("y", ["batch", 32])],
                  [("w", (64, 32))])
    ir = convert(source)
    whole, weights = ir.read_text(), ir.with_suffix(".bin").read_bytes()
    damaged = [("<?xml version=\"1.0\"?><net name=\"m\"/>", weights), (whole[:300], weights),
               (whole.replace('version="11"', 'version="7"'), weights),
               (whole.replace('dim>64', 'dim>-64').replace('shape="64', 'shape="99999999999'), weights),
               (whole, weights[:100]), ("", weights)]
    for xml, values in damaged:
        ir.write_text(xml)
        ir.with_suffix(".bin").write_bytes(values)
        for verb in ("plan", "describe"):
            status, _, err = ridge(verb, ir)
            assert status == 3 and f"{ir}: " in err, (xml[:80], status, err)


def test_without_openvino_the_error_says_how_to_get_it(tmp_path):
    alone = tmp_path / "ridge"  # with no plugin beside it
    alone.write_bytes(pathlib.Path(RIDGE).read_bytes())
    alone.chmod(0o755)
    (tmp_path / "m.xml").write_text("<net/>")
    found = subprocess.run([alone, "plan", tmp_path / "m.xml"], capture_output=True, text=True, timeout=60)
    assert found.returncode == 3, found.stderr
    assert "OpenVINO's own format" in found.stderr and "./dev setup" in found.stderr, found.stderr


def test_ir_without_its_weights_says_so(tmp_path):
    source = save(tmp_path / "dense.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", ["batch", 64])],
                  [("y", ["batch", 32])], [("w", (64, 32))])
    ir = convert(source)
    ir.with_suffix(".bin").unlink()
    status, _, err = ridge("plan", ir, "-d", "T4")
    assert status == 3 and "dense.bin" in err and "beside the model" in err, err
