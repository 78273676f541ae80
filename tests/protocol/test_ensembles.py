"""Ensembles, by the stock clients over both protocols: Triton's semantics. ctest: timeout 300"""

import csv
import json
import os
import pathlib
import subprocess

import models
import numpy as np
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http
import tritonclient.utils.shared_memory as shm
from server import Server, message, wait_until
from tritonclient.utils import InferenceServerException

DEPS = pathlib.Path(os.environ.get("RIDGE_DEPS", pathlib.Path(__file__).resolve().parents[2] / ".deps"))
PERF = DEPS / "perf_analyzer" / "perf_analyzer"
KINDS = {"http": http, "grpc": grpc}
PAIR = """
platform: "ensemble"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }
"""


def step(model, inputs, outputs, version=-1):
    """One of ensemble_scheduling; the maps are from the model's names to the ensemble's."""
    text = f'step {{ model_name: "{model}" model_version: {version} '
    for kind, names in (("input_map", inputs), ("output_map", outputs)):
        text += "".join(f'{kind} {{ key: "{of_model}" value: "{tensor}" }} ' for of_model, tensor in names.items())
    return text + "}\n"


def ensemble(root, name, *steps, head=PAIR):
    (root / name / "1").mkdir(parents=True, exist_ok=True)  # Triton's layout: an empty version
    (root / name / "config.pbtxt").write_text(head + "ensemble_scheduling {\n" + "".join(steps) + "}\n")


def scaled(root, name, factor, extra=""):
    models.scaled(root / name / "1" / "model.onnx", factor)
    (root / name / "config.pbtxt").write_text("max_batch_size: 8\n" + extra)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("ensembles")
    scaled(root, "double", 2.0)
    scaled(root, "triple", 3.0)
    models.identity(root / "scores" / "1" / "model.onnx", "FP32", ("batch", 4))
    (root / "scores" / "config.pbtxt").write_text(
        'max_batch_size: 8 input { name: "x" data_type: TYPE_FP32 dims: 4 } '
        'output { name: "y" data_type: TYPE_FP32 dims: 4 label_filename: "labels.txt" }')
    (root / "scores" / "labels.txt").write_text("cat\ndog\nbird\nfish\n")
    models.fails_on_zero(root / "table" / "1" / "model.onnx")
    (root / "table" / "config.pbtxt").write_text("max_batch_size: 8\n")
    ensemble(root, "chain", step("double", {"x": "x"}, {"y": "mid"}), step("triple", {"x": "mid"}, {"y": "y"}))
    ensemble(root, "fork", step("double", {"x": "x"}, {"y": "y"}), step("chain", {"x": "x"}, {"y": "z"}, version=1),
             head=PAIR + 'output { name: "z" data_type: TYPE_FP32 dims: [ 4 ] }\n')
    ensemble(root, "labelled", step("double", {"x": "x"}, {"y": "mid"}), step("scores", {"x": "mid"}, {"y": "y"}))
    ensemble(root, "fails", step("table", {"x": "x"}, {"y": "y"}),
             head='platform: "ensemble" max_batch_size: 8 input { name: "x" data_type: TYPE_INT64 dims: 1 } '
                  'output { name: "y" data_type: TYPE_FP32 dims: 1 }\n')
    with Server(root, "--model-control-mode", "explicit", "--load-model", "*") as running:
        running.root = root
        yield running


@pytest.fixture(params=["http", "grpc"])
def kind(request):
    return KINDS[request.param]


def address(kind, server):
    return f"127.0.0.1:{server.ports['http' if kind is http else 'grpc']}"


@pytest.fixture
def client(kind, server):
    with kind.InferenceServerClient(address(kind, server)) as stock:
        yield stock


def tensor(kind, array, datatype="FP32", name="x"):
    given = kind.InferInput(name, list(array.shape), datatype)
    given.set_data_from_numpy(array)
    return given


ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)


def test_answers_are_those_of_the_steps_one_after_the_other(kind, client):
    answer = client.infer("chain", [tensor(kind, ROWS)], request_id="seven")
    assert np.array_equal(answer.as_numpy("y"), ROWS * 6)
    reply = answer.get_response()
    assert (reply["id"] if isinstance(reply, dict) else reply.id) == "seven"
    answer = client.infer("fork", [tensor(kind, ROWS)])
    assert np.array_equal(answer.as_numpy("y"), ROWS * 2) and np.array_equal(answer.as_numpy("z"), ROWS * 6)
    answer = client.infer("fork", [tensor(kind, ROWS)], outputs=[kind.InferRequestedOutput("z")])
    assert answer.as_numpy("y") is None and np.array_equal(answer.as_numpy("z"), ROWS * 6)


def test_metadata_config_and_index_describe_it(kind, client):
    assert client.is_server_ready() and client.is_model_ready("chain") and client.is_model_ready("chain", "1")
    as_json = {} if kind is http else {"as_json": True}
    metadata = client.get_model_metadata("chain", **as_json)
    assert metadata["platform"] == "ensemble" and metadata["versions"] == ["1"]
    assert [int(dim) for dim in metadata["inputs"][0]["shape"]] == [-1, 4]
    config = client.get_model_config("chain", **as_json)
    config = config.get("config", config)
    assert config["platform"] == "ensemble" and config["max_batch_size"] == 8
    steps = config["ensemble_scheduling"]["step"]
    assert [each["model_name"] for each in steps] == ["double", "triple"]
    assert (steps[0]["input_map"] == {"x": "x"} and steps[0]["output_map"] == {"y": "mid"}
            and int(steps[0]["model_version"]) == -1)
    index = client.get_model_repository_index(**as_json)
    index = index if kind is http else index["models"]
    assert {each["name"]: each["state"] for each in index}["chain"] == "READY"


def test_classes_have_the_labels_of_the_model_that_gives_them(kind, client):
    scores = np.array([[1, 4, 2, 3]], dtype=np.float32)
    answer = client.infer("labelled", [tensor(kind, scores)], outputs=[kind.InferRequestedOutput("y", class_count=2)])
    assert answer.as_numpy("y").tolist() == [[b"8.000000:1:dog", b"6.000000:3:fish"]]


def test_a_failing_step_is_named(kind, client):
    before = client.get_inference_statistics("fails", **({} if kind is http else {"as_json": True}))["model_stats"][0]
    with pytest.raises(InferenceServerException) as error:
        client.infer("fails", [tensor(kind, np.array([[9]], dtype=np.int64), "INT64")])
    assert "ensemble 'fails', step 0 (model 'table')" in str(error.value)
    assert error.value.status() in ("500", "StatusCode.INTERNAL")
    after = client.get_inference_statistics("fails", **({} if kind is http else {"as_json": True}))["model_stats"][0]
    count = lambda stats: int(stats["inference_stats"]["fail"].get("count", 0))  # noqa: E731
    assert count(after) == count(before) + 1


def test_wrong_requests_are_refused_before_a_step_runs(kind, client):
    for wrong in (tensor(kind, np.zeros((2, 3), np.float32)), tensor(kind, np.zeros((9, 4), np.float32)),
                  tensor(kind, ROWS, name="q")):
        with pytest.raises(InferenceServerException) as error:
            client.infer("chain", [wrong])
        assert error.value.status() in ("400", "StatusCode.INVALID_ARGUMENT")


def test_statistics_and_metrics_count_it_and_its_steps(server):
    def stats():
        answer = server.get("/v2/models/stats").json()["model_stats"]
        return {each["name"]: each for each in answer}

    before = stats()
    for _ in range(3):
        body = {"inputs": [{"name": "x", "shape": [2, 4], "datatype": "FP32", "data": ROWS.flatten().tolist()}]}
        assert server.post("/v2/models/chain/infer",
                           json.dumps(body)).json()["outputs"][0]["data"] == (ROWS * 6).flatten().tolist()
    after = stats()
    for name in ("chain", "double", "triple"):
        earlier, later = (of[name]["inference_stats"]["success"]["count"] for of in (before, after))
        assert later == earlier + 3, name
        assert after[name]["inference_count"] == before[name]["inference_count"] + 6, name
    own, steps = after["chain"]["inference_stats"], [after[name]["inference_stats"] for name in ("double", "triple")]
    assert own["compute_infer"]["ns"] > 0 and own["queue"]["count"] == own["success"]["count"]
    assert sum(each["batch_size"] * each["compute_infer"]["count"]
               for each in after["chain"]["batch_stats"]) == after["chain"]["inference_count"]
    assert all(each["success"]["count"] >= 3 for each in steps)
    text = server.get("/metrics").body.decode()
    assert f'nv_inference_request_success{{model="chain",version="1"}} {own["success"]["count"]}\n' in text


def test_tensors_in_shared_memory(kind, client):
    region = shm.create_shared_memory_region("r", f"/ridge-ensemble-{os.getpid()}", 64, create_only=True)
    try:
        shm.set_shared_memory_region(region, [ROWS])
        client.register_system_shared_memory("r", f"/ridge-ensemble-{os.getpid()}", 64)
        given, wanted = kind.InferInput("x", [2, 4], "FP32"), kind.InferRequestedOutput("y")
        given.set_shared_memory("r", 32)
        wanted.set_shared_memory("r", 32, offset=32)
        client.infer("chain", [given], outputs=[wanted])
        assert np.array_equal(shm.get_contents_as_numpy(region, np.float32, [2, 4], 32), ROWS * 6)
    finally:
        client.unregister_system_shared_memory()
        shm.destroy_shared_memory_region(region)


def test_is_ready_only_while_its_models_are(kind, client, server):
    client.unload_model("triple")
    try:
        assert (not client.is_model_ready("chain") and not client.is_model_ready("fork")
                and client.is_model_ready("labelled"))
        assert client.is_server_ready(), "it was unloaded on request, and with it what needs it, as in Triton"
        index = {each["name"]: each for each in server.post("/v2/repository/index").json()}
        assert index["chain"]["state"] == "UNAVAILABLE" and "model 'triple'" in index["chain"]["reason"]
        with pytest.raises(InferenceServerException) as error:
            client.infer("chain", [tensor(kind, ROWS)])
        assert error.value.status() in ("503", "StatusCode.UNAVAILABLE")
        assert 'nv_inference_request_success{model="chain"' not in server.get("/metrics").body.decode()
    finally:
        client.load_model("triple")
    assert client.is_model_ready("fork")
    assert np.array_equal(client.infer("chain", [tensor(kind, ROWS)]).as_numpy("y"), ROWS * 6)


def test_loads_and_unloads_bring_and_take_its_models(kind, tmp_path):
    scaled(tmp_path, "double", 2.0)
    scaled(tmp_path, "triple", 3.0)
    ensemble(tmp_path, "chain", step("double", {"x": "x"}, {"y": "mid"}), step("triple", {"x": "mid"}, {"y": "y"}))
    with Server(tmp_path, "--model-control-mode", "explicit", "--load-model", "chain") as running:
        with kind.InferenceServerClient(address(kind, running)) as client:
            assert client.is_server_ready() and client.is_model_ready("double")
            client.unload_model("chain", unload_dependents=True)
            assert (not client.is_model_ready("chain") and not client.is_model_ready("double")
                    and not client.is_model_ready("triple"))
            client.load_model("chain")
            assert np.array_equal(client.infer("chain", [tensor(kind, ROWS)]).as_numpy("y"), ROWS * 6)
            client.unload_model("chain")
            assert client.is_model_ready("double")
            with pytest.raises(InferenceServerException, match="takes tensor 'lost'"):
                client.load_model("chain",
                                  config=json.dumps({"platform": "ensemble", "max_batch_size": 8,
                                                     "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}],
                    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [4]}],
                    "ensemble_scheduling": {"step": [{"model_name": "double", "model_version": -1,
                                                      "input_map": {"x": "lost"}, "output_map": {"y": "y"}}]}}))


@pytest.mark.parametrize("steps, text", [
    ([step("double", {"x": "x"}, {"y": "mid"}), step("nowhere", {"x": "mid"}, {"y": "y"})], "step 1 (model 'nowhere')"),
    ([step("double", {"q": "x"}, {"y": "y"})], "'x' is missing in the input_map"),
    ([step("double", {"x": "x"}, {"y": "y", "q": "unused"})], "tensor 'unused'"),
    ([step("double", {"x": "b"}, {"y": "a"}), step("double", {"x": "a"}, {"y": "b"}),
      step("double", {"x": "x"}, {"y": "y"})],
     "step 0 (model 'double')"),
    ([step("wide", {"x": "x"}, {"y": "y"})], "tensor 'x' is FP32 [-1,4]"),
    ([step("double", {"x": "x"}, {"y": "y"}, version=7)], "version 7"),
    ([step("wrong", {"x": "x"}, {"y": "y"})], "'wrong'"),
])
def test_what_does_not_fit_is_refused_with_its_name(tmp_path, steps, text):
    scaled(tmp_path, "double", 2.0)
    models.identity(tmp_path / "wide" / "1" / "model.onnx", "FP32", ("batch", 5))
    (tmp_path / "wide" / "config.pbtxt").write_text("max_batch_size: 8\n")
    ensemble(tmp_path, "wrong", *steps)
    with Server(tmp_path, wait_ready=False) as running:
        index = running.wait_loaded()
        assert text in index["wrong"]["reason"], index
        assert running.get("/v2/models/double/ready").status == 200
        assert running.get("/v2/health/ready").status == 503


def test_polling_loads_an_ensemble_once_its_model_is_there(tmp_path):
    scaled(tmp_path, "double", 2.0)
    ensemble(tmp_path, "chain", step("double", {"x": "x"}, {"y": "mid"}), step("triple", {"x": "mid"}, {"y": "y"}))
    with Server(tmp_path, "--model-control-mode", "poll", "--repository-poll-secs", "1", wait_ready=False) as running:
        running.wait_loaded()
        assert running.get("/v2/models/chain/ready").status != 200
        scaled(tmp_path, "triple", 3.0)
        wait_until(lambda: running.get("/v2/models/chain/ready").status == 200)


def test_raw_and_pipelined_requests(server):
    body = json.dumps({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]})
    with server.connect() as connection:
        for _ in range(3):
            connection.send(message("POST", "/v2/models/chain/infer", body))
        for _ in range(3):
            assert connection.read().json()["outputs"][0]["data"] == [6, 12, 18, 24]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_perf_analyzer_knows_its_steps(server, protocol, tmp_path):
    if not PERF.exists():
        pytest.fail(f"{PERF} is missing; ./dev setup installs it")
    done = subprocess.run(
        [PERF, "-m", "fork", "-u", f"127.0.0.1:{server.ports[protocol]}", "-i", protocol, "--concurrency-range", "2",
         "--measurement-mode", "count_windows",
         "--measurement-request-count", "100", "-s", "999", "-r", "4", "-f", tmp_path / "report.csv"],
         capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Composing models" in done.stdout and "double" in done.stdout and "triple" in done.stdout, done.stdout
    assert float(list(csv.DictReader((tmp_path / "report.csv").open()))[0]["Inferences/Second"]) > 0
