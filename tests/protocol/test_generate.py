"""Triton's generate extension (docs/protocol/extension_generate.md of its server): generate and generate_stream."""

import gzip
import json

import models
import numpy as np
import pytest

from server import Server, wait_until

ROW = [float(i) for i in range(16)]
EVENTS = "text/event-stream; charset=utf-8"


def post(server, kind, model, request, version=None, headers=()):
    versions = f"/versions/{version}" if version else ""
    body = request if isinstance(request, (str, bytes)) else json.dumps(request)
    return server.post(f"/v2/models/{model}{versions}/{kind}", body, headers)


def answered(answer, kind="generate"):
    """The object of the answer, whichever form it has."""
    assert answer.status == 200, answer
    if kind == "generate":
        assert answer.headers["content-type"] == "application/json"
        return answer.json()
    assert answer.headers["content-type"] == EVENTS
    body = answer.body
    assert body.startswith(b"data: ") and body.endswith(b"\n\n") and body.count(b"\n") == 2, body
    return json.loads(answer.body[len(b"data: "):])


def refused(answer, status=400, mention=""):
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.json()) == ["error"] and mention in answer.json()["error"], answer


@pytest.fixture(params=["generate", "generate_stream"])
def kind(request):
    return request.param


def test_members_are_inputs_and_outputs(server, kind):
    request = {"INPUT0": list(range(16)), "parameters": {"INPUT1": [1] * 16, "temperature": 0.5}, "id": "42",
               "stream": False}
    assert answered(post(server, kind, "simple", request), kind) == {
        "model_name": "simple", "model_version": "1", "id": "42", "OUTPUT0": [i + 1 for i in range(16)],
        "OUTPUT1": [i - 1 for i in range(16)]}


def test_without_an_id_the_answer_has_none(server, kind):
    for request in ({"x": ROW}, {"x": ROW, "id": ""}):
        assert answered(post(server, kind, "identity", request), kind) == {"model_name": "identity",
                                                                           "model_version": "1", "y": ROW}


def test_a_text_is_a_value(server, kind):
    for request in ({"x": "ü\nb"}, {"x": ["ü\nb"]}):
        assert answered(post(server, kind, "text", request), kind) == {"model_name": "text", "model_version": "1",
                                                                       "y": "ü\nb"}


@pytest.mark.parametrize("datatype", ["INT8", "INT64", "UINT64", "FP64", "BOOL", "BYTES"])
def test_types_come_from_the_model(server, datatype):
    values = {"BOOL": [True, False], "BYTES": ["ü", ""], "FP64": [0.1, -0.0],
              "UINT64": [2**64 - 1, 0]}.get(datatype, [-128, 127])
    assert answered(post(server, "generate", f"identity_{datatype.lower()}", {"x": values}))["y"] == values
    assert answered(post(server, "generate", f"identity_{datatype.lower()}", {"x": values[0]}))["y"] == values[0]


def test_shapes_come_from_the_model_and_the_nesting(server):
    for values in (ROW, [ROW], ROW + ROW, [ROW, ROW]):
        flat = np.ravel(values).tolist()
        assert answered(post(server, "generate", "identity", {"x": values}))["y"] == flat
    assert answered(post(server, "generate", "fixed", {"x": [1, 2, 3, 4, 5, 6]}))["y"] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert answered(post(server, "generate", "fixed",
                         {"x": [[1, 2, 3], [4, 5, 6]]}))["y"] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert answered(post(server, "generate", "vector", {"x": 7}))["y"] == 7.0
    refused(post(server, "generate", "fixed", {"x": [[1, 2], [3, 4], [5, 6]]}), mention="[3,2]")


def test_versions_are_in_the_path(server, kind):
    assert answered(post(server, kind, "versions", {"x": [1.0] * 4}), kind)["y"] == [10.0] * 4
    assert answered(post(server, kind, "versions", {"x": [1.0] * 4}, version=2),
                    kind) == {"model_name": "versions", "model_version": "2", "y": [2.0] * 4}
    refused(post(server, kind, "versions", {"x": [1.0] * 4}, version=7), 404)
    refused(post(server, kind, "unknown", {"x": 1}), 404, "unknown")
    refused(server.get(f"/v2/models/versions/{kind}"), 405)


@pytest.mark.parametrize("body,mention", [
    ("", "JSON"), ("{", "JSON"), ("[]", "object"), ({}, "x"), ({"z": 1}, "x"), ({"x": ROW[1:]}, "'x'"),
    ({"x": [ROW, ROW[1:]]}, "differ in length"),
    ({"x": "a"}, "'x'"), ({"x": [ROW] * 9}, "8"), ('{"x":[1],"x":[1]}', "'x'"), ({"x": ROW, "id": 7}, "'id'"),
    ({"x": ROW, "parameters": []}, "'parameters'"),
    ({"x": ROW, "other": [1]}, "'other'"), ({"x": ROW, "timeout": "soon"}, "'timeout'"),
    ({"x": ROW, "parameters": {"priority": -1}}, "'priority'"), ('{"x":[NaN]}', "JSON")])
def test_bad_requests_are_refused_with_the_reason(server, kind, body, mention):
    refused(post(server, kind, "identity", body), mention=mention)


def test_answers_that_json_cannot_express_are_refused(server, kind):
    refused(post(server, kind, "text", {"x": {"b64": "/w=="}}), mention="UTF-8")


def test_an_engines_error_is_json_with_its_status(server, kind):
    refused(post(server, kind, "table", {"x": 9}), 500)


def test_parameters_place_a_request_in_a_sequence(tmp_path):
    models.accumulator(tmp_path / "sum" / "1" / "model.onnx")
    (tmp_path / "sum" / "config.pbtxt").write_text("""max_batch_size: 4
sequence_batching {
  direct { }
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
  state { input_name: "STATE" output_name: "NEXT" data_type: TYPE_INT32 dims: [ 1 ] }
}""")
    with Server(tmp_path) as server:
        first = post(server, "generate", "sum", {"INPUT": 3, "sequence_id": 7, "sequence_start": True})
        last = post(server, "generate", "sum", {"INPUT": 4, "parameters": {"sequence_id": 7, "sequence_end": True}})
        assert answered(first)["OUTPUT"] == 3 and answered(last)["OUTPUT"] == 7
        refused(post(server, "generate", "sum", {"INPUT": 4}))


def test_it_is_an_inference_like_any_other(server, kind):
    """The same counters, coding of bodies and answers, and independence of the binary extension's field."""
    def count():
        return server.get("/v2/models/fixed/stats").json()["model_stats"][0]["inference_stats"]["success"]["count"]
    before = count()
    answer = post(server, kind, "fixed", gzip.compress(json.dumps({"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}).encode()),
                  headers={"Content-Encoding": "gzip", "Accept-Encoding": "gzip",
                           "Inference-Header-Content-Length": "7"})
    assert answer.status == 200 and answer.headers["content-encoding"] == "gzip"
    text = gzip.decompress(answer.body).removeprefix(b"data: ")
    assert json.loads(text)["y"] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert count() == before + 1


def test_large_requests_are_converted_off_the_connections_thread(server, kind):
    values = np.arange(8 * 20000, dtype=np.float32).reshape(8, -1).tolist()
    assert answered(post(server, kind, "identity_fp32", {"x": values, "binary_data_output": True}),
                    kind)["y"] == np.ravel(values).tolist()


def test_bodies_keys_and_the_access_log_are_those_of_inference(repository, tmp_path, kind):
    keys, log = tmp_path / "keys", tmp_path / "access"
    keys.write_text("inference  key-of-inference-7d1f\ncontrol  key-of-control-93b2\n")
    keys.chmod(0o600)
    with Server(repository, "--keys", keys, "--http-max-input-size", "4096", "--access-log", log) as server:
        def bearer(key):
            return {"Authorization": f"Bearer {key}"}
        request = {"x": ROW, "id": "named-1"}
        refused(post(server, kind, "identity", request), 401)
        refused(post(server, kind, "identity", request, headers=bearer("key-of-control-93b2")), 403)
        assert answered(post(server, kind, "identity", request, headers=bearer("key-of-inference-7d1f")),
                        kind)["id"] == "named-1"
        refused(post(server, kind, "identity", {"x": [ROW] * 200}, headers=bearer("key-of-inference-7d1f")), 413)
        wait_until(lambda: "named-1" in log.read_text())
        lines = [line for line in log.read_text().splitlines() if "named-1" in line]
        assert len(lines) == 1 and f"/v2/models/identity/{kind}" in lines[0] and " 200 " in lines[0]
