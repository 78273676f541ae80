"""Contract sections 4 and 5: metadata and model configuration."""

import json

import models
import pytest
from server import Server, fp32


def test_server_metadata(server):
    metadata = server.get("/v2").json()
    assert isinstance(metadata["name"], str) and isinstance(metadata["version"], str)
    assert {"binary_tensor_data", "classification", "model_configuration", "model_repository",
            "statistics"} <= set(metadata["extensions"])


def test_only_extensions_that_work_are_declared(server):
    extensions = server.get("/v2").json()["extensions"]
    paths = {"system_shared_memory": "/v2/systemsharedmemory/status",
             "cuda_shared_memory": "/v2/cudasharedmemory/status", "logging": "/v2/logging"}
    for extension, path in paths.items():
        assert (extension in extensions) == (server.get(path).status == 200), extension
    assert "trace" not in extensions, "there is no collector"


def test_model_metadata_has_leading_batch_dimension_and_config_order(server):
    metadata = server.get("/v2/models/simple").json()
    assert metadata["name"] == "simple" and metadata["versions"] == ["1"]
    assert metadata["platform"] in ("onnxruntime_onnx", "onnxruntime")
    assert metadata["inputs"] == [{"name": f"INPUT{i}", "datatype": "INT32", "shape": [-1, 16]} for i in (0, 1)]
    assert metadata["outputs"] == [{"name": f"OUTPUT{i}", "datatype": "INT32", "shape": [-1, 16]} for i in (0, 1)]


def test_non_batching_models_show_their_shape_as_it_is(server):
    assert server.get("/v2/models/fixed").json()["inputs"][0]["shape"] == [2, 3]
    assert server.get("/v2/models/vector").json()["inputs"][0]["shape"] == [-1]


def test_versions_list_the_ready_ones_or_the_one_asked_for(server):
    assert sorted(server.get("/v2/models/versions").json()["versions"], key=int) == ["1", "2", "10"]
    assert server.get("/v2/models/versions/versions/2").json()["versions"] == ["2"]
    assert server.get("/v2/models/latest").json()["versions"] == ["3"]


def test_reshape_shows_the_shape_of_the_config(server):
    assert server.get("/v2/models/reshape").json()["inputs"][0]["shape"] == [-1, 1]


@pytest.mark.parametrize("datatype", models.ELEMENT)
def test_every_datatype_has_its_wire_and_config_name(server, datatype):
    name = f"identity_{datatype.lower()}"
    assert server.get(f"/v2/models/{name}").json()["inputs"][0]["datatype"] == datatype
    expected = "TYPE_STRING" if datatype == "BYTES" else f"TYPE_{datatype}"
    assert server.get(f"/v2/models/{name}/config").json()["input"][0]["data_type"] == expected


def test_config_prints_integers_as_numbers_enums_as_names_and_defaults(server):
    config = server.get("/v2/models/identity/config").json()
    assert config["name"] == "identity" and config["max_batch_size"] == 8
    assert config["input"][0]["dims"] == [16] and config["input"][0]["data_type"] == "TYPE_FP32"
    assert config["input"][0]["optional"] is False and config["input"][0]["is_shape_tensor"] is False
    assert config["instance_group"][0]["kind"] == "KIND_CPU" and config["instance_group"][0]["count"] >= 1
    assert isinstance(config["dynamic_batching"]["max_queue_delay_microseconds"], int)
    assert all(isinstance(v, int) for v in config["dynamic_batching"]["preferred_batch_size"])


def test_sub_messages_appear_only_when_set(server):
    config = server.get("/v2/models/simple/config").json()
    for key in ("dynamic_batching", "sequence_batching", "ensemble_scheduling"):
        assert key not in config, key
    assert "dynamic_batching" in server.get("/v2/models/identity/config").json()


def test_config_reflects_version_policy_and_reshape(server):
    assert "all" in server.get("/v2/models/versions/config").json()["version_policy"]
    assert server.get("/v2/models/reshape/config").json()["input"][0]["reshape"]["shape"] == []


def test_a_model_without_config_is_completed_from_its_graph(server):
    config = server.get("/v2/models/plain/config").json()
    assert config["name"] == "plain" and config["max_batch_size"] == 4 and "dynamic_batching" in config
    assert config["input"] == [dict(config["input"][0], name="x", data_type="TYPE_FP32", dims=[2])]
    answer = server.infer("plain", {"inputs": [fp32("x", [3, 2], [1, 2, 3, 4, 5, 6])]}).json()
    assert answer["outputs"][0]["shape"] == [3, 2] and answer["outputs"][0]["data"] == [1, 2, 3, 4, 5, 6]


TEXT = """
# a comment
name: 'syntax' ; backend: "onnx" "runtime"
max_batch_size: 8,
input [ { name: "x", data_type: TYPE_FP32, dims: [ 16 ] } ]
output: { name: "y" data_type: TYPE_FP32 dims: 16 }
instance_group { count: 2 kind: KIND_CPU }
dynamic_batching: { preferred_batch_size: [ 2, 4 ]; max_queue_delay_microseconds: 9007199254740993 }
parameters { key: "a" value { string_value: "1" } }
parameters: { key: "b" value: { string_value: "2" } }
metric_tags { key: "team" value: "vision" }
"""


def test_text_format_syntax_in_all_its_forms(tmp_path):
    models.identity(tmp_path / "syntax" / "1" / "model.onnx")
    (tmp_path / "syntax" / "config.pbtxt").write_text(TEXT)
    with Server(tmp_path) as server:
        raw = server.get("/v2/models/syntax/config").body
        assert b"9007199254740993" in raw and b'"9007199254740993"' not in raw
        config = json.loads(raw)
        assert config["backend"] == "onnxruntime" and config["parameters"]["b"] == {"string_value": "2"}
        assert config["dynamic_batching"]["preferred_batch_size"] == [2,
                                                                      4] and config["instance_group"][0]["count"] == 2
        assert 'team="vision"' in server.metrics() or '_team="vision"' in server.metrics()


@pytest.mark.parametrize("text,expected", [
    ("max_batch_sizes: 8\n", "max_batch_sizes"),
    ("\n\nmax_batch_size: }\n", "3"),
    ('name: "another"\n', "another"),
    ('input [{ name: "wrong" data_type: TYPE_FP32 dims: [16] }]\nmax_batch_size: 8\n', "wrong"),
    ('input [{ name: "x" data_type: TYPE_INT32 dims: [16] }]\noutput [{ name: "y" data_type: TYPE_FP32 dims: [16] }]\n'
     'max_batch_size: 8\n', "INT32"),
    ('input [{ name: "x" data_type: TYPE_FP32 dims: [17] }]\noutput [{ name: "y" data_type: TYPE_FP32 dims: [17] }]\n'
     'max_batch_size: 8\n', "17"),
    ('backend: "tensorrt"\n', "tensorrt"),
])
def test_a_wrong_config_fails_the_load_and_says_where(tmp_path, text, expected):
    models.identity(tmp_path / "bad" / "1" / "model.onnx")
    (tmp_path / "bad" / "config.pbtxt").write_text(text)
    models.identity(tmp_path / "good" / "1" / "model.onnx")
    with Server(tmp_path, wait_ready=False) as server:
        index = server.wait_loaded()
        assert index["bad"]["state"] == "UNAVAILABLE" and expected in index["bad"]["reason"], index["bad"]
        assert index["good"]["state"] == "READY"
        assert server.get("/v2/health/ready").status == 503
