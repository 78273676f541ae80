"""Contract section 16: dynamic batching and the queue."""

import json
import math
import re
import socket
import threading
import time

import models
import pytest
from server import Server, fp32, in_order_of_arrival, message, wait_until

WITHOUT_WARM_UP = 'parameters { key: "ridge_warmup" value { string_value: "off" } }'


def config(root, name, text):
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / "config.pbtxt").write_text(text)


@pytest.fixture
def serve(tmp_path):
    running = []

    def start(text, *arguments, model=models.identity, name="m"):
        model(tmp_path / name / "1" / "model.onnx")
        config(tmp_path, name, text)
        running.append(Server(tmp_path, *arguments).__enter__())
        return running[0]

    yield start
    for server in running:
        server.__exit__(None)


def together(server, requests, model="m", headers=()):
    """Sends all requests at the same moment on connections of their own; the answers in order."""
    connections = [server.connect() for _ in requests]
    for connection, request in zip(connections, requests):
        connection.send(message("POST", f"/v2/models/{model}/infer", json.dumps(request), headers))
    answers = [connection.read() for connection in connections]
    [connection.close() for connection in connections]
    return answers


def rows(count, value=1.0, identity=None):
    return {"inputs": [fp32("x", [count, 16], [value] * 16 * count)], **({"id": identity} if identity else {})}


def batch_sizes(server, model="m"):
    return {e["batch_size"]: e["compute_infer"]["count"] for e in server.statistics(model)["batch_stats"]}


def test_waiting_requests_are_merged_and_each_gets_its_own_rows(serve):
    # The batch is full before
    server = serve("max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 20000000 }\n")
    answers = together(server, [rows(n, float(n), str(n)) for n in (1, 2, 5)])
    for n, answer in zip((1, 2, 5), answers):
        output = answer.json()["outputs"][0]
        assert answer.json()["id"] == str(n) and output["shape"] == [n, 16] and output["data"] == [float(n)] * 16 * n
    assert batch_sizes(server) == {8: 1}


def test_batches_count_rows_and_never_exceed_the_maximum(serve):
    server = serve("max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 200000 }\n")
    for answer in together(server, [rows(3)] * 6):
        assert answer.status == 200
    sizes = batch_sizes(server)
    assert max(sizes) <= 8 and sum(size * count for size, count in sizes.items()) == 18
    assert any(size >= 6 for size in sizes)


def test_a_full_batch_does_not_wait(serve):
    server = serve("max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 20000000 }\n")
    start = time.monotonic()
    assert server.infer("m", rows(4)).status == 200
    assert time.monotonic() - start < 15


def test_a_preferred_size_does_not_wait(serve):
    server = serve("max_batch_size: 8\n"
                   "dynamic_batching { preferred_batch_size: [2] max_queue_delay_microseconds: 20000000 }\n")
    start = time.monotonic()
    for answer in together(server, [rows(1)] * 2):
        assert answer.status == 200
    assert time.monotonic() - start < 15 and batch_sizes(server) == {2: 1}


def test_a_lone_request_waits_no_longer_than_the_delay(serve):
    server = serve("max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 400000 }\n")
    start = time.monotonic()
    assert server.infer("m", rows(1)).status == 200
    assert 0.3 < time.monotonic() - start < 15


def test_without_dynamic_batching_each_request_is_one_execution(serve):
    server = serve("max_batch_size: 8\n")
    together(server, [rows(1)] * 6)
    assert batch_sizes(server) == {1: 6}


def test_requests_of_different_shapes_are_not_merged(serve):
    server = serve("max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 100000 }\n",
                   model=lambda path: models.identity(path, "FP32", ("batch", "n")))
    requests = [{"inputs": [fp32("x", [1, n], [float(n)] * n)]} for n in (3, 3, 5, 5)]
    for n, answer in zip((3, 3, 5, 5), together(server, requests)):
        assert answer.json()["outputs"][0]["data"] == [float(n)] * n
    assert max(batch_sizes(server)) <= 2


def test_an_invalid_request_affects_no_other_request(serve):
    server = serve("max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 100000 }\n")
    bad = {"inputs": [fp32("x", [1, 15], [0.0] * 15)]}
    answers = together(server, [rows(1, 1.0), bad, rows(1, 2.0)])
    assert [a.status for a in answers] == [200, 400, 200]


def test_each_answer_keeps_its_own_encoding_and_outputs(serve):
    server = serve("max_batch_size: 2\ndynamic_batching { max_queue_delay_microseconds: 20000000 }\n",
                   model=models.add_sub)

    def request(outputs):
        return {"inputs": [{"name": f"INPUT{i}", "shape": [1, 16], "datatype": "INT32", "data": [i + 1] * 16}
                           for i in (0, 1)], "outputs": outputs}

    first, second = together(server, [request([{"name": "OUTPUT0"}]),
                                      request([{"name": "OUTPUT1", "parameters": {"binary_data": True}}])])
    assert [o["name"] for o in first.json()["outputs"]] == ["OUTPUT0"]
    assert second.headers["content-type"] == "application/octet-stream"
    assert second.body.endswith((-1).to_bytes(4, "little", signed=True) * 16)
    assert batch_sizes(server) == {2: 1}


@pytest.fixture
def first_run_is_slow(tmp_path):
    """A server whose model takes 4 s for its first run and no time for the others."""
    running = []

    def start(queue_policy):
        models.fake(tmp_path / "m",
                    "max_batch_size: 1\ndynamic_batching { default_queue_policy { %s } }\n" % queue_policy +
                    'parameters { key: "ridge_warmup" value { string_value: "off" } }\n', stall_runs=[1], stall_ms=4000)
        running.append(Server(tmp_path).__enter__())
        return running[0]

    yield start
    for server in running:
        server.__exit__(None)


def test_a_full_queue_refuses_at_once_with_503(first_run_is_slow):
    server = first_run_is_slow("max_queue_size: 2")
    connections = [server.connect() for _ in range(8)]
    for connection in connections:
        connection.send(message("POST", "/v2/models/m/infer", json.dumps(rows(1))))
        time.sleep(0.05)
    statuses = [answer.status for _, answer in in_order_of_arrival(connections)]
    # One runs and two wait; one fewer if the worker had not yet taken the first when the third came.
    assert statuses in ([503] * 5 + [200] * 3, [503] * 6 + [200] * 2), "refusals come at once, before the slow answer"
    refused = statuses.count(503)
    rejected = [line for line in server.metrics().splitlines() if 'reason="REJECTED"' in line and 'model="m"' in line]
    assert float(rejected[0].split()[-1]) == refused


def test_a_queue_timeout_is_enforced_when_it_passes(first_run_is_slow):
    server = first_run_is_slow("timeout_action: REJECT default_timeout_microseconds: 500000 "
                               "allow_timeout_override: true")
    start = time.monotonic()
    connections = [server.connect(), server.connect()]  # whichever comes first runs
    for connection in connections:
        connection.send(message("POST", "/v2/models/m/infer", json.dumps(rows(1))))
    (_, answer), (_, second) = in_order_of_arrival(connections)
    assert answer.status in (503, 504, 408) and answer.json()["error"]
    assert time.monotonic() - start > 0.4, "not before its time"
    assert second.status == 200, "the refusal came when the deadline passed, not when the engine was free"


def test_a_deadline_that_will_not_be_met_is_refused_at_once_with_the_prediction(tmp_path):
    models.fake(tmp_path / "m",
                "max_batch_size: 1\ndynamic_batching { default_queue_policy { allow_timeout_override: true } }\n"
                + WITHOUT_WARM_UP, latency_ms=1500)
    hurried = rows(1) | {"parameters": {"timeout": 500_000}}
    with Server(tmp_path) as server, server.connect() as slow:
        assert server.infer("m",
                            hurried).status == 200, "an idle server refuses nothing, and it has measured nothing yet"
        slow.send(message("POST", "/v2/models/m/infer", json.dumps(rows(1))))
        time.sleep(0.2)  # until it runs
        begin = time.monotonic()
        refused = server.infer("m", hurried)
        assert time.monotonic() - begin < 0.4, "before the timeout"
        assert refused.status == 503
        waits, runs, deadline = map(float, re.findall(r"([\d.]+) ms", refused.json()["error"]))
        assert int(refused.headers["retry-after"]) == math.ceil((waits + runs - deadline) / 1000) >= 2
        assert 500 < waits <= 1600 and 1400 < runs < 2500 and deadline == 500
        metrics = server.metrics()
        assert 'ridge_inference_request_rejected{model="m",version="1",reason="PREDICTED_LATE"} 1\n' in metrics
        assert 'nv_inference_request_failure{model="m",version="1",reason="REJECTED"} 1\n' in metrics
        assert slow.read().status == 200
        # Its worker sleeps soon after the answer: it is idle again
        wait_until(lambda: server.infer("m", hurried).status == 200)


CACHED = "max_batch_size: 8\nresponse_cache { enable: true }\n" + WITHOUT_WARM_UP


def test_equal_requests_are_answered_from_the_response_cache_until_a_reload(serve, tmp_path):
    server = serve(CACHED, "--cache-config=local,size=1000000", "--model-control-mode=explicit", "--load-model=*",
                   model=lambda path: models.scaled(path, 2.0, ("batch", 16)))
    for identity in ("a", "b", "c"):
        answer = server.infer("m", rows(2, 1.0, identity)).json()
        assert answer["id"] == identity and answer["outputs"][0]["data"] == [2.0] * 32
    assert server.infer("m", rows(1, 3.0)).json()["outputs"][0]["data"] == [6.0] * 16
    wait_until(lambda: server.statistics("m")["execution_count"] == 2)
    stats = server.statistics("m")["inference_stats"]
    assert stats["cache_hit"]["count"] == 2 and stats["cache_miss"]["count"] == 2 and stats["success"]["count"] == 4
    assert stats["compute_infer"]["count"] == 2 and stats["cache_hit"]["ns"] > 0 and stats["cache_miss"]["ns"] > 0
    metrics = server.metrics()
    assert ('nv_cache_num_hits_per_model{model="m",version="1"} 2\n' in metrics
            and 'nv_cache_num_misses_per_model{model="m",version="1"} 2\n' in metrics)
    assert "nv_cache_hit_duration_per_model{" in metrics and "nv_cache_miss_duration_per_model{" in metrics
    models.scaled(tmp_path / "m" / "1" / "model.onnx", 5.0, ("batch", 16))
    assert server.post("/v2/repository/models/m/load").status == 200
    assert server.infer("m", rows(2)).json()["outputs"][0]["data"] == [5.0] * 32


def test_without_a_size_for_it_nothing_is_cached(serve):
    server = serve(CACHED)
    for _ in range(2):
        assert server.infer("m", rows(1)).status == 200
    wait_until(lambda: server.statistics("m")["execution_count"] == 2)
    assert server.statistics("m")["inference_stats"]["cache_miss"] == {"count": 0, "ns": 0}


def test_instances_run_side_by_side(tmp_path):
    models.fake(tmp_path / "m", 'max_batch_size: 8\ninstance_group { count: 2 kind: KIND_CPU }\n'
                'parameters { key: "ridge_warmup" value { string_value: "off" } }\n', latency_ms_per_row=500)
    with Server(tmp_path) as server, server.connect() as slow:
        slow.send(message("POST", "/v2/models/m/infer", json.dumps(rows(8))))
        time.sleep(0.1)
        assert server.infer("m", rows(1)).status == 200
        assert slow.silent(), "the quick request overtook the slow one"
        assert slow.read().status == 200


def test_requests_whose_clients_have_left_are_not_run(serve, tmp_path):
    models.fake(tmp_path / "slow", "max_batch_size: 8\n" + WITHOUT_WARM_UP, latency_ms=3000)  # they do not merge
    server = serve("max_batch_size: 8\n")

    def metric(name, reason=""):
        label = f',reason="{reason}"' if reason else ""
        return int(re.search(rf'^{name}\{{model="slow",version="1"{label}\}} (\d+)$', server.metrics(), re.M)[1])

    connections = [server.connect() for _ in range(5)]
    for connection in connections:
        connection.send(message("POST", "/v2/models/slow/infer", json.dumps(rows(1))))
    wait_until(lambda: metric("nv_inference_pending_request_count") == 4)
    half_closed = connections.pop()
    half_closed.socket.shutdown(socket.SHUT_WR)
    for connection in connections:
        connection.close()
    while (answer := half_closed.read()).status == 100:  # asks whether it is still there
        pass
    assert answer.status == 200
    runs = metric("nv_inference_exec_count")
    assert runs <= 2 and runs + metric("nv_inference_request_failure", "CANCELED") == 5


def found(path):
    """The values above a half of x [batch,3]: y [found,1]. As many as there are, whatever the rows."""
    helper = models.helper
    models.save(path,
                [helper.make_node("Greater", ["x", "half"], ["is"]), helper.make_node("NonZero", ["is"], ["places"]),
                       helper.make_node("Transpose", ["places"], ["at"]),
                 helper.make_node("GatherND", ["x", "at"], ["values"]),
                       helper.make_node("Unsqueeze", ["values", "one"], ["y"])],
                [("x", "FP32", ["batch", 3])], [("y", "FP32", ["found", 1])],
                [helper.make_tensor("half", models.TensorProto.FLOAT, [], [0.5]),
                 helper.make_tensor("one", models.TensorProto.INT64, [1], [1])])


def softmax(path, dimension="batch"):
    """Over the rows."""
    models.save(path, [models.helper.make_node("Softmax", ["x"], ["y"], axis=0)], [("x", "FP32", [dimension, 3])],
                [("y", "FP32", [dimension, 3])])


def index_of(server, model):
    return next(entry for entry in server.post("/v2/repository/index", "").json() if entry["name"] == model)


@pytest.mark.parametrize("config", ["", "max_batch_size: 0\n",
                                    "max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 2000 }\n"])
def test_values_found_for_one_client_go_to_no_other(serve, config):
    server = serve(config, model=found)
    asked = [([0, 11, 22], [11, 22]), ([0, 0, 0], []), ([33, 0, 0], [33])] * 8
    answers = together(server, [{"inputs": [fp32("x", [1, 3], row)]} for row, _ in asked])
    for (row, right), answer in zip(asked, answers):
        (output,) = answer.json()["outputs"]
        assert output["data"] == right and output["shape"] == [len(right), 1], (row, answer)
    (output,) = server.post("/v2/models/m/infer", json.dumps({"inputs": [fp32("x", [0, 3], [])]})).json()["outputs"]
    assert output["shape"] == [0, 1]
    assert ("first dimension of output 'y'" in index_of(server, "m").get("reason", "")) == ("8" in config)


@pytest.mark.parametrize("config", ["", "max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 2000 }\n"])
def test_rows_that_look_at_each_other_are_not_joined(serve, config):
    server = serve(config, model=softmax)
    for answer in together(server, [{"inputs": [fp32("x", [1, 3], [n, 0, -n])]} for n in range(16)]):
        assert answer.json()["outputs"][0]["data"] == [1, 1, 1]
    assert server.get("/v2/models/m/config").json()["max_batch_size"] == 0
    assert ("served without batching" in index_of(server, "m").get("reason", "")) == ("8" in config)
