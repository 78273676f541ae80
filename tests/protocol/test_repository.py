"""Contract section 14: index, load, unload, versions, control modes."""

import base64
import json
import os
import shutil
import threading
import time

import models
import numpy as np
import onnx
import pytest
from server import Server, fp32, message


def factor(server, name="m", version=None):
    answer = server.infer(name, {"inputs": [fp32("x", [1, 4], [1.0] * 4)]}, version=version)
    return answer.json()["outputs"][0]["data"][0] if answer.status == 200 else answer.status


def load(server, name, parameters=None):
    return server.post(f"/v2/repository/models/{name}/load",
                       {"parameters": parameters} if parameters is not None else b"")


def unload(server, name, body=b""):
    return server.post(f"/v2/repository/models/{name}/unload", body)


def index(server, body=b""):
    return {(e["name"], e.get("version")): e for e in server.post("/v2/repository/index", body).json()}


def put(root, version, value, name="m"):
    models.scaled(root / name / str(version) / "model.onnx", value)


@pytest.fixture
def explicit(tmp_path):
    put(tmp_path, 1, 1.0)
    put(tmp_path, 1, 5.0, "other")
    with Server(tmp_path, "--model-control-mode=explicit", "--load-model=m") as server:
        server.root = tmp_path
        yield server


def test_index_lists_states_and_plain_directories(explicit):
    entries = index(explicit)
    assert entries[("m", "1")]["state"] == "READY"
    assert entries[("other", None)] == {"name": "other"} or entries[("other",
                                                                     None)].get("state") in (None, "UNAVAILABLE", "")
    assert index(explicit, b"{}").keys() == entries.keys()
    assert set(index(explicit, json.dumps({"ready": True}))) == {("m", "1")}


def test_load_is_synchronous_and_unload_stops_new_requests(explicit):
    assert load(explicit, "other").status == 200
    assert factor(explicit, "other") == 5.0
    assert unload(explicit, "other").status == 200
    deadline = time.monotonic() + 60
    while (entry := index(explicit).get(("other", "1"),
                                        {})).get("state") != "UNAVAILABLE" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert entry["state"] == "UNAVAILABLE" and entry["reason"] == "unloaded"
    assert factor(explicit, "other") in (404, 503)
    assert factor(explicit) == 1.0
    assert explicit.get("/v2/health/ready").status == 200, "an explicit unload does not make the server unready"


def test_reload_picks_up_files_config_and_versions(explicit):
    put(explicit.root, 2, 2.0)
    assert factor(explicit) == 1.0, "changes on disk do nothing without a load"
    assert load(explicit, "m").status == 200
    assert factor(explicit) == 2.0 and factor(explicit, version=1) in (404, 503)
    (explicit.root / "m" / "config.pbtxt").write_text("max_batch_size: 2\nversion_policy { all {} }\n")
    assert load(explicit, "m").status == 200
    assert explicit.get("/v2/models/m/config").json()["max_batch_size"] == 2
    assert (factor(explicit, version=1), factor(explicit, version=2)) == (1.0, 2.0)


def test_a_failed_reload_keeps_the_old_model_serving(explicit):
    good = (explicit.root / "m" / "1" / "model.onnx").read_bytes()
    (explicit.root / "m" / "1" / "model.onnx").write_bytes(good[:100])
    answer = load(explicit, "m")
    assert answer.status >= 400 and "failed to load 'm'" in answer.json()["error"]
    assert factor(explicit) == 1.0
    (explicit.root / "m" / "config.pbtxt").write_text("nonsense: 1\n")
    assert "nonsense" in load(explicit, "m").json()["error"]
    assert factor(explicit) == 1.0


def test_loading_something_unknown_says_so_and_leaves_the_server_ready(explicit):
    answer = load(explicit, "missing")
    assert answer.status >= 400 and "failed to load 'missing'" in answer.json()["error"]
    assert explicit.get("/v2/health/ready").status == 200


@pytest.mark.parametrize("name", ["..", ".", "%2e%2e", "..%2f..%2fetc", "a%2fb", "%20", "a%00b"])
def test_names_may_not_escape(explicit, name):
    assert 400 <= load(explicit, name).status < 500
    assert explicit.get("/v2/health/ready").status == 200


def test_unloading_unknown_or_unloaded_models_is_harmless(explicit):
    for name in ("never", "other"):
        assert unload(explicit, name).status in (200, 400, 404)
    assert unload(explicit, "m", json.dumps({"parameters": {"unload_dependents": True}})).status == 200
    assert unload(explicit, "m").status in (200, 400, 404)


def test_a_config_override_replaces_the_file_and_may_be_partial(explicit):
    config = {"max_batch_size": "3", "dynamic_batching": {"max_queue_delay_microseconds": "100"}}
    assert load(explicit, "m", {"config": json.dumps(config)}).status == 200
    served = explicit.get("/v2/models/m/config").json()
    assert served["max_batch_size"] == 3 and served["dynamic_batching"]["max_queue_delay_microseconds"] == 100
    assert served["input"][0]["name"] == "x"
    assert load(explicit, "m", {"config": "{broken"}).status >= 400
    assert load(explicit, "m", {"config": json.dumps({"no_such_field": 1})}).status >= 400
    assert factor(explicit) == 1.0


def test_files_sent_with_a_load_replace_the_directory(explicit, tmp_path):
    models.scaled(tmp_path / "scratch.onnx", 9.0)
    content = base64.b64encode((tmp_path / "scratch.onnx").read_bytes()).decode()
    assert load(explicit, "sent", {"config": "{}", "file:7/model.onnx": content}).status == 200
    assert factor(explicit, "sent") == 9.0 and factor(explicit, "sent", version=7) == 9.0
    assert not (explicit.root / "sent").exists()
    assert load(explicit, "sent2", {"file:1/model.onnx": content}).status >= 400, "files need a config"
    for name in ("file:../../evil", "file:/etc/evil", "file:1/../../evil", "file:" + "a/" * 200 + "x", "file:"):
        assert load(explicit, "sent", {"config": "{}", name: content}).status >= 400, name
    assert load(explicit, "sent", {"config": "{}", "file:1/model.onnx": "*** not base64 ***"}).status >= 400
    assert load(explicit, "sent", {"unknown_key": "x"}).status >= 400
    assert factor(explicit, "sent") == 9.0


@pytest.mark.parametrize("label", ["../../../../..", "/etc/passwd", "a/../../b"])
def test_label_files_may_not_escape(explicit, label):
    config = {"output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [4], "label_filename": label}]}
    assert load(explicit, "m", {"config": json.dumps(config)}).status >= 400
    assert factor(explicit) == 1.0


def test_the_index_shows_a_load_while_it_goes_on(explicit):
    """A load that takes long does not hold up other control calls."""
    models.fake(explicit.root / "slow", "instance_group { count: 8 kind: KIND_CPU }\n", load_ms=3000)
    thread = threading.Thread(target=load, args=(explicit, "slow"))
    thread.start()
    seen = set()
    while thread.is_alive():
        seen.add(index(explicit).get(("slow", "1"), {}).get("state"))
    thread.join()
    assert "LOADING" in seen
    assert unload(explicit, "slow").status == 200


def test_running_requests_finish_when_their_model_is_unloaded_or_reloaded(tmp_path):
    models.steps(tmp_path / "steps" / "1" / "model.onnx")
    with Server(tmp_path, "--model-control-mode=explicit", "--load-model=*") as server:
        for action in (unload, load):
            load(server, "steps")
            slow = {"inputs": [{"name": "n", "shape": [1], "datatype": "INT64", "data": [2000]}]}
            with server.connect() as connection:
                connection.deliver(message("POST", "/v2/models/steps/infer", json.dumps(slow)))
                time.sleep(0.2)
                assert action(server, "steps").status == 200
                assert connection.read().status == 200, action


def test_load_and_unload_under_traffic_lose_no_accepted_request(explicit):
    statuses, stop = [], threading.Event()

    def client():
        while not stop.is_set():
            statuses.append(explicit.infer("m", {"inputs": [fp32("x", [1, 4], [1.0] * 4)]}).status)

    threads = [threading.Thread(target=client) for _ in range(3)]
    [t.start() for t in threads]
    for _ in range(10):
        assert load(explicit, "m").status == 200
    stop.set()
    [t.join() for t in threads]
    assert set(statuses) == {200}, "a reload swaps without a gap"


def test_control_mode_none_refuses_load_and_unload(tmp_path):
    put(tmp_path, 1, 1.0)
    with Server(tmp_path) as server:
        for answer in (load(server, "m"), unload(server, "m")):
            assert answer.status == 503 and answer.json()["error"]
        assert factor(server) == 1.0


def test_control_mode_poll_follows_the_disk(tmp_path):
    put(tmp_path, 1, 1.0)
    with Server(tmp_path, "--model-control-mode=poll", "--repository-poll-secs=1") as server:
        put(tmp_path, 2, 2.0)
        put(tmp_path, 1, 7.0, "late")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (factor(server) == 2.0 and factor(server, "late") == 7.0):
            time.sleep(0.1)
        assert factor(server) == 2.0 and factor(server, "late") == 7.0
        shutil.rmtree(tmp_path / "late")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and factor(server, "late") == 7.0:
            time.sleep(0.1)
        assert factor(server, "late") in (404, 503)


def test_explicit_star_loads_everything(tmp_path):
    put(tmp_path, 1, 1.0)
    put(tmp_path, 1, 2.0, "n")
    with Server(tmp_path, "--model-control-mode=explicit", "--load-model=*") as server:
        assert (factor(server), factor(server, "n")) == (1.0, 2.0)


def test_only_numeric_directories_without_leading_zero_are_versions(tmp_path):
    put(tmp_path, 2, 2.0)
    for name in ("01", "x", "3a", "-4", "0", ".5"):
        models.scaled(tmp_path / "m" / name / "model.onnx", 9.0)
    with Server(tmp_path) as server:
        assert server.get("/v2/models/m").json()["versions"] == ["2"]


@pytest.mark.parametrize("policy,versions", [("latest { num_versions: 2 }", ["2", "10"]), ("all { }", ["1", "2", "10"]),
                                             ("specific { versions: [1, 10] }", ["1", "10"])])
def test_version_policies(tmp_path, policy, versions):
    for version in (1, 2, 10):
        put(tmp_path, version, float(version))
    (tmp_path / "m" / "config.pbtxt").write_text(f"max_batch_size: 4\nversion_policy {{ {policy} }}\n")
    with Server(tmp_path) as server:
        assert sorted(server.get("/v2/models/m").json()["versions"], key=int) == versions


def with_external_data(folder, value):
    """y = x's rows of a table in weights.bin, 4 MB, which engines map into memory."""
    rows, width = 1 << 14, 64
    table = np.full((rows, width), value, dtype=np.float32)
    weights = onnx.TensorProto(name="table", data_type=onnx.TensorProto.FLOAT, dims=[rows, width],
                               data_location=onnx.TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value="weights.bin")
    models.save(folder / "model.onnx", [onnx.helper.make_node("Gather", ["table", "x"], ["y"])],
                [("x", "INT64", ["batch"])], [("y", "FP32", ["batch", width])], [weights])
    (folder / "weights.bin").write_bytes(table.tobytes())
    return table


def test_a_load_that_fails_for_its_files_is_the_clients_error_and_names_them_within_the_repository(explicit):
    with_external_data(explicit.root / "table" / "1", 1.0)
    (explicit.root / "table" / "1" / "weights.bin").unlink()
    (explicit.root / "text" / "1").mkdir(parents=True)
    (explicit.root / "text" / "1" / "model.onnx").write_text("no model")
    for name, file in (("table", "table/1/weights.bin"), ("text", "text/1/model.onnx"), ("other", None)):
        if file is None:
            (explicit.root / name / "1" / "model.onnx").unlink()
        answer = load(explicit, name)
        assert 400 <= answer.status < 500, answer
        for text in (answer.json()["error"], index(explicit)[(name, "1")]["reason"]):
            assert str(explicit.root) not in text and "RIDGE_LOG" not in text, text
            assert file is None or file in text, text
    assert str(explicit.root / "table" / "1" / "weights.bin") in explicit.read_log(), "the log has the whole path"


def test_a_model_file_that_cannot_be_read_is_said_to_be_so(tmp_path):
    put(tmp_path, 1, 1.0)
    (tmp_path / "m" / "1" / "model.onnx").chmod(0)
    # root reads any file unless it has not the capability to
    as_user = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root can read everything, and setpriv is not here")
    with Server(tmp_path, wait_ready=False, wrapper=as_user if os.geteuid() == 0 else []) as server:
        reason = server.wait_loaded()["m"]["reason"]
        assert "m/1/model.onnx: Permission denied" in reason and "RIDGE_LOG" not in reason, reason


def test_external_data_that_is_replaced_in_place_changes_nothing_until_the_next_load(tmp_path):
    with_external_data(tmp_path / "table" / "1", 1.0)
    rows = {"inputs": [{"name": "x", "shape": [2, 1], "datatype": "INT64", "data": [7, 16383]}]}

    def values(server):
        answer = server.infer("table", rows)
        assert answer.status == 200, answer
        return set(answer.json()["outputs"][0]["data"])

    with Server(tmp_path, "--model-control-mode=explicit", "--load-model=table") as server:
        assert values(server) == {1.0}
        weights = tmp_path / "table" / "1" / "weights.bin"
        with open(weights, "r+b") as file:
            file.write(np.full(1 << 20, 2.0, dtype=np.float32).tobytes())
        assert values(server) == {1.0}, "written in place"
        with open(weights, "wb"):
            pass
        assert values(server) == {1.0}, "cut off"
        assert load(server, "table").status >= 400
        assert values(server) == {1.0}
        weights.write_bytes(np.full(1 << 20, 3.0, dtype=np.float32).tobytes())
        assert load(server, "table").status == 200
        assert values(server) == {3.0}


def test_a_load_request_cannot_name_files_to_the_engine(explicit, tmp_path):
    victim = tmp_path / "victim"
    config = json.dumps({"parameters": {"session.collect_node_memory_stats_to_file": {"string_value": str(victim)}}})
    answer = load(explicit, "m", {"config": config})
    assert answer.status == 400 and "collect_node_memory_stats_to_file" in answer.json()["error"]
    assert not victim.exists() and factor(explicit) == 1.0


def test_a_batch_that_no_memory_holds_is_refused_before_it_is_tried(explicit):
    answer = load(explicit, "m", {"config": json.dumps({"max_batch_size": 2**31 - 1})})
    assert answer.status == 400 and "max_batch_size 2147483647" in answer.json()["error"]
    assert factor(explicit) == 1.0


def test_a_deeply_nested_configuration_is_refused(explicit):
    for config in ('{"input":' + "[" * 1000, '{"name":"\\"[[","input":' + "[" * 65):
        answer = load(explicit, "m", {"config": config})
        assert answer.status == 400 and "nested deeper than 64" in answer.json()["error"]


def test_failed_loads_are_counted(explicit):
    assert 'nv_model_load_failure{model="m"} 0\n' in explicit.metrics()
    assert load(explicit, "m", {"config": "oops"}).status == 400
    (explicit.root / "other" / "config.pbtxt").write_text("oops")
    for _ in range(2):
        assert load(explicit, "other").status == 400
    metrics = explicit.metrics()
    assert 'nv_model_load_failure{model="m"} 1\n' in metrics and 'nv_model_load_failure{model="other"} 2\n' in metrics


def without_shape(path, which):
    """y = x reshaped to s; the file does not say the shape of x, or of y, which the engine cannot infer."""
    tensors = {"x": (onnx.TensorProto.FLOAT, [4]), "s": (onnx.TensorProto.INT64, ["k"]),
               "y": (onnx.TensorProto.FLOAT, [2, 2])}
    tensors[which] = (tensors[which][0], None)
    x, s, y = (onnx.helper.make_tensor_value_info(name, *tensor) for name, tensor in tensors.items())
    graph = onnx.helper.make_graph([onnx.helper.make_node("Reshape", ["x", "s"], ["y"])], "g", [x, s], [y])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
                                            ir_version=9).SerializeToString())


@pytest.mark.parametrize("which", ["x", "y"])
def test_a_tensor_without_a_shape_needs_dims_in_the_configuration(explicit, which):
    without_shape(explicit.root / "open" / "1" / "model.onnx", which)
    answer = load(explicit, "open")
    assert (answer.status == 400 and f"'{which}' has no shape" in answer.json()["error"]
            and "config.pbtxt" in answer.json()["error"])
    inputs = 'input [{ name: "x" data_type: TYPE_FP32 dims: [ 4 ] }, { name: "s" data_type: TYPE_INT64 dims: [ -1 ] }]'
    output = 'output [{ name: "y" data_type: TYPE_FP32 dims: [ 2, 2 ] }]'
    (explicit.root / "open" / "config.pbtxt").write_text(inputs if which == "x" else output)
    assert load(explicit, "open").status == 200
    shape = {"name": "s", "datatype": "INT64", "shape": [2], "data": [2, 2]}
    answer = explicit.infer("open", {"inputs": [fp32("x", [4], [1.0, 2.0, 3.0, 4.0]), shape]})
    assert answer.json()["outputs"][0]["shape"] == [2, 2]
