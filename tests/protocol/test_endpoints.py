"""Contract sections 1, 2 and 15: endpoints, errors, health."""

import json

import pytest

from server import fp32

ONE = {"inputs": [fp32("x", [1, 16], [1.0] * 16)]}


def is_error(answer, *statuses):
    assert answer.status in statuses, answer
    assert answer.headers["content-type"] == "application/json", answer
    assert isinstance(answer.json()["error"], str) and answer.json()["error"], answer
    return answer.json()["error"]


def test_health_answers_carry_json_bodies_for_kserve(server):
    live, ready = server.get("/v2/health/live"), server.get("/v2/health/ready")
    assert (live.status, live.json()) == (200, {"live": True})
    assert (ready.status, ready.json()) == (200, {"ready": True})
    assert server.get("/health").status == 200


def test_model_ready_names_the_model(server):
    answer = server.get("/v2/models/identity/ready")
    assert (answer.status, answer.json()) == (200, {"name": "identity", "ready": True})
    assert server.get("/v2/models/identity/versions/1/ready").status == 200
    assert 400 <= server.get("/v2/models/unknown/ready").status < 600
    assert 400 <= server.get("/v2/models/identity/versions/7/ready").status < 600


@pytest.mark.parametrize("path",
                         ["/v2", "/v2/", "/v2?x=1", "/v2/models/identity?verbose=1", "/v2/health/live?probe=k8s"])
def test_server_metadata_has_both_spellings_and_query_strings_are_ignored(server, path):
    assert server.get(path).status == 200


@pytest.mark.parametrize("path", ["//", "/v1", "/v2/nothing", "/v2/models", "/v2/models/",
                                  "/v2/models/identity/nothing", "/v2/health",
                                  "/v2/models/identity/versions", "/v2/models/identity/versions/1/nothing",
                                  "/v3/models/identity"])
def test_unknown_paths_are_404(server, path):
    is_error(server.get(path), 404)


@pytest.mark.parametrize("method,path",
                         [("POST", "/v2"), ("DELETE", "/v2/models/identity"), ("GET", "/v2/models/identity/infer"),
                                         ("PUT", "/v2/models/identity/infer"), ("GET", "/v2/repository/index"),
                                         ("POST", "/v2/health/live"), ("GET", "/v2/repository/models/identity/load")])
def test_wrong_methods_are_405(server, method, path):
    is_error(server.request(method, path), 405)


@pytest.mark.parametrize("version", ["abc", "0", "-1", "9" * 30, "1.0", "01x"])
@pytest.mark.parametrize("tail", ["", "/ready", "/config", "/stats"])
def test_bad_versions_are_400_or_404(server, version, tail):
    assert server.get(f"/v2/models/identity/versions/{version}{tail}").status in (400, 404)
    is_error(server.infer("identity", ONE, version=version), 400, 404)


def test_missing_version_means_the_highest_served(server):
    request = {"inputs": [fp32("x", [1, 4], [1.0] * 4)]}
    answer = server.infer("versions", request).json()
    assert answer["model_version"] == "10" and answer["outputs"][0]["data"] == [10.0] * 4
    answer = server.infer("versions", request, version=2).json()
    assert answer["model_version"] == "2" and answer["outputs"][0]["data"] == [2.0] * 4


def test_content_type_of_requests_is_never_enforced(server):
    for content_type in ("application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8",
                         "nonsense"):
        assert server.infer("identity", ONE, {"Content-Type": content_type}).status == 200


def test_success_is_labelled_json(server):
    for path in ("/v2", "/v2/models/identity", "/v2/models/identity/config", "/v2/models/stats", "/v2/health/live"):
        assert server.get(path).headers["content-type"] == "application/json"
    assert server.infer("identity", ONE).headers["content-type"] == "application/json"


def test_unknown_json_members_are_ignored(server):
    assert server.infer("identity", {**ONE, "model_name": "identity", "extra": {"deep": [1]}}).status == 200


def test_unknown_model_and_version_are_404_with_the_text_clients_look_for(server):
    assert "Request for unknown model: 'nope' is not found" in is_error(server.infer("nope", ONE), 404)
    is_error(server.infer("identity", ONE, version=99), 404)
    is_error(server.get("/v2/models/nope"), 404)
    is_error(server.get("/v2/models/nope/config"), 404)
    is_error(server.get("/v2/models/nope/stats"), 404)


@pytest.mark.parametrize("body", [
    b"{", b"[]", b"null", b"7", b'"text"', b'{"inputs":7}', b'{"inputs":{}}', b"{}", b'{"inputs":[]}',
    b'{"inputs":[7]}', b'{"inputs":[{}]}',
    b'{"inputs":[{"name":7,"shape":[1,16],"datatype":"FP32","data":[]}]}', b'{"id":7,"inputs":"x"}', b"not json",
    b"\xff\xfe\x00",
    b'{"inputs":[{"name":"x","shape":[1,16],"datatype":"FP32"}]}',
    b'{"inputs":[{"name":"x","shape":"1","datatype":"FP32","data":[]}]}',
    b'{"inputs":[{"name":"x","shape":[1,16],"datatype":5,"data":[]}]}',
    b'{"inputs":[{"name":"x","datatype":"FP32","data":[1]}]}',
    b'{"inputs":[{"shape":[1],"datatype":"FP32","data":[1]}]}', b'{"inputs":[]} trailing',
])
def test_malformed_bodies_are_400_and_keep_the_connection(server, body):
    from server import message
    with server.connect() as connection:
        connection.send(message("POST", "/v2/models/identity/infer", body))
        is_error(connection.read(), 400)
        connection.send(message("POST", "/v2/models/identity/infer", json.dumps(ONE)))
        assert connection.read().status == 200


@pytest.mark.parametrize("depth", [200, 100000, 1000000])
def test_deep_nesting_is_400(server, depth):
    is_error(server.infer("identity", "[" * depth), 400)
    is_error(server.infer("identity", '{"inputs":[{"name":"x","shape":[1,16],"datatype":"FP32","data":' + "[" * depth
                          + "]" * depth + "}]}"), 400)


def test_engine_failure_while_running_is_500_and_harms_no_other_client(server):
    bad = {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "INT64", "data": [99]}]}
    good = {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "INT64", "data": [2]}]}
    is_error(server.infer("table", bad), 500)
    assert server.infer("table", good).json()["outputs"][0]["data"] == [20.0]


def test_unsupported_encoding_is_refused(server):
    is_error(server.infer("identity", ONE, {"Content-Encoding": "br"}), 415, 501, 400)


def test_model_names_are_percent_decoded_and_may_not_escape(server):
    assert server.get("/v2/models/%69dentity").status == 200
    for name in ("..%2f..%2fetc", "%2e%2e", "a%2fb", "%00", "%zz", ""):
        assert server.get(f"/v2/models/{name}/config").status in (400, 404), name
