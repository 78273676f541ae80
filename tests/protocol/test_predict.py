"""TensorFlow Serving's REST predict (https://www.tensorflow.org/tfx/serving/api_rest), which KServe v1 clients
speak."""

import base64
import gzip
import json

import numpy as np
import pytest

from server import Server

ROW = [float(i) for i in range(16)]
TWO = {"INPUT0": list(range(16)), "INPUT1": [1] * 16}


def predict(server, model, request, version=None, headers=()):
    versions = f"/versions/{version}" if version else ""
    body = request if isinstance(request, (str, bytes)) else json.dumps(request)
    return server.post(f"/v1/models/{model}{versions}:predict", body, headers)


def answered(answer):
    assert answer.status == 200, answer
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def refused(answer, status=400, mention=""):
    assert answer.status == status, answer
    assert list(answer.json()) == ["error"] and mention in answer.json()["error"], answer


def test_rows_of_the_only_input_need_no_name(server):
    for instances in ([ROW, ROW], [{"x": ROW}, {"x": ROW}]):
        assert answered(predict(server, "identity", {"instances": instances})) == {"predictions": [ROW, ROW]}
    assert answered(predict(server, "identity",
                            {"signature_name": "serving_default", "instances": [ROW]})) == {"predictions": [ROW]}


def test_columns_of_the_only_input_need_no_name(server):
    for inputs in ([ROW], {"x": [ROW]}):
        assert answered(predict(server, "identity", {"inputs": inputs})) == {"outputs": [ROW]}


def test_several_inputs_and_outputs_are_named_in_both_forms(server):
    sums, differences = [i + 1 for i in range(16)], [i - 1 for i in range(16)]
    assert answered(predict(server, "simple",
                            {"instances": [TWO, TWO]})) == {"predictions": [{"OUTPUT0": sums,
                                                                             "OUTPUT1": differences}] * 2}
    columns = {name: [values] for name, values in TWO.items()}
    assert answered(predict(server, "simple",
                            {"inputs": columns})) == {"outputs": {"OUTPUT0": [sums], "OUTPUT1": [differences]}}


@pytest.mark.parametrize("datatype", ["INT8", "INT64", "UINT64", "FP64", "BOOL", "BYTES"])
def test_types_come_from_the_model(server, datatype):
    values = {"BOOL": [True, False], "BYTES": ["ü", ""], "FP64": [0.1, -0.0],
              "UINT64": [2**64 - 1, 0]}.get(datatype, [-128, 127])
    assert answered(predict(server, f"identity_{datatype.lower()}",
                            {"instances": [values]})) == {"predictions": [values]}


def test_bytes_may_come_in_base64(server):
    coded = {"b64": base64.b64encode("ünï".encode()).decode()}
    assert answered(predict(server, "identity_bytes", {"instances": [[coded, "b"]]})) == {"predictions": [["ünï", "b"]]}
    assert answered(predict(server, "text", {"instances": [coded]})) == {"predictions": ["ünï"]}
    refused(predict(server, "text", {"instances": [{"b64": "?"}]}), mention="x")
    # Bytes that are not UTF-8 have no JSON form unless the output's name says that it is binary.
    refused(predict(server, "text", {"instances": [{"b64": "/w=="}]}), mention="UTF-8")


def test_versions_are_in_the_path(server):
    rows = {"instances": [[1.0] * 4]}
    assert answered(predict(server, "versions", rows)) == {"predictions": [[10.0] * 4]}
    assert answered(predict(server, "versions", rows, version=2)) == {"predictions": [[2.0] * 4]}
    refused(predict(server, "versions", rows, version=7), 404)
    refused(predict(server, "versions", rows, version="x"))


@pytest.mark.parametrize("request_body,mention", [
    ("", "JSON"), ("{", "JSON"), ("[]", "object"), ({}, "none"), ({"instances": [ROW], "inputs": [ROW]}, "both"),
    ({"instances": []}, "empty"),
    ({"instances": [ROW[1:]]}, "[1,15]"), ({"instances": [ROW, ROW[1:]]}, "differ in length"),
    ({"inputs": {"z": [ROW]}}, "'x'"),
    ({"inputs": [["a"] * 16]}, "element 0"), ({"signature_name": "train", "inputs": [ROW]}, "'train'"),
    ({"instances": [ROW] * 9}, "8"), ({"instances": [{}]}, "x"), ('{"instances":[[NaN]]}', "JSON")])
def test_bad_requests_are_refused_with_the_reason(server, request_body, mention):
    refused(predict(server, "identity", request_body), mention=mention)


def test_unknown_models_and_other_calls_are_refused(server):
    refused(predict(server, "unknown", {"instances": [1]}), 404, "unknown")
    refused(server.post("/v1/models/identity:classify", "{}"), 501)
    refused(server.get("/v1/models/identity:predict"), 405)
    refused(server.get("/v1/models/unknown"), 404)


def test_status_of_versions_is_that_of_tensorflow_serving(server):
    def status(version):
        return {"version": str(version), "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    assert answered(server.get("/v1/models/versions"))["model_version_status"] == [status(v) for v in (1, 2, 10)]
    assert answered(server.get("/v1/models/versions/versions/2")) == {"model_version_status": [status(2)]}
    refused(server.get("/v1/models/versions/versions/3"), 404)


def test_a_prediction_is_an_inference_like_any_other(server):
    """The same counters, coding of bodies and answers, and independence of the binary extension's field."""
    def count():
        return server.get("/v2/models/fixed/stats").json()["model_stats"][0]["inference_stats"]["success"]["count"]
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    before = count()
    answer = predict(server, "fixed", gzip.compress(json.dumps({"inputs": rows}).encode()),
                     headers={"Content-Encoding": "gzip", "Accept-Encoding": "gzip",
                              "Inference-Header-Content-Length": "7"})
    assert answer.status == 200 and json.loads(gzip.decompress(answer.body)) == {"outputs": rows}
    assert count() == before + 1


def test_large_requests_are_converted_off_the_connections_thread(server):
    rows = np.arange(8 * 20000, dtype=np.float32).reshape(8, -1).tolist()
    assert answered(predict(server, "identity_fp32", {"instances": rows})) == {"predictions": rows}


def test_bodies_and_keys_have_the_limits_of_inference(repository, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("inference  key-of-inference-7d1f\ncontrol  key-of-control-93b2\n")
    keys.chmod(0o600)
    with Server(repository, "--keys", keys, "--http-max-input-size", "4096") as server:
        def bearer(key):
            return {"Authorization": f"Bearer {key}"}
        rows = {"instances": [ROW]}
        refused(predict(server, "identity", rows), 401)
        refused(predict(server, "identity", rows, headers=bearer("key-of-control-93b2")), 403)
        assert answered(predict(server, "identity", rows,
                                headers=bearer("key-of-inference-7d1f"))) == {"predictions": [ROW]}
        refused(predict(server, "identity", {"instances": [ROW] * 200}, headers=bearer("key-of-inference-7d1f")), 413)
        assert server.get("/v1/models/identity", bearer("key-of-control-93b2")).status == 200
        refused(server.get("/v1/models/identity"), 401)
