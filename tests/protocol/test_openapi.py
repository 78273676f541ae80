"""The OpenAPI document at /v2/docs, and the server held against it by schemathesis."""

# ctest: timeout 120
import importlib.util
import json
import subprocess
import sys

import pytest

from server import Server

CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
          "unsupported_method")


def test_the_document_is_json_and_names_every_endpoint(server):
    answer = server.get("/v2/docs")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    document = answer.json()
    assert document["openapi"] == "3.1.0" and document["info"]["version"] == server.get("/v2").json()["version"]
    assert {"/v2/models/{model}/infer", "/v2/models/{model}/versions/{version}/infer",
            "/v1/models/{model}:predict", "/metrics"} <= set(document["paths"])
    assert server.request("POST", "/v2/docs").status == 405


def known_names(document):
    """Names that are there, beside one that is not: else all answers are 404."""
    parameters = document["components"]["parameters"]
    parameters["model"]["schema"] = {"enum": ["identity", "simple", "text", "vector", "unknown", "a b"]}
    parameters["version"]["schema"] = {"enum": [1, 2]}
    parameters["region"]["schema"] = {"enum": ["r", "s"]}
    return document


@pytest.mark.skipif(importlib.util.find_spec("schemathesis") is None,
                    reason="schemathesis is not installed: ./dev setup brings it")
def test_answers_to_generated_requests_are_as_documented(repository, tmp_path):
    with Server(repository, "--model-control-mode", "explicit", "--load-model", "*") as server:
        file = tmp_path / "openapi.json"
        file.write_text(json.dumps(known_names(server.get("/v2/docs").json())))
        # 500 is documented for inference, where an engine may fail; here none does. 501 and 503 are answers of this
        # configuration.
        (tmp_path / "schemathesis.toml").write_text('[checks.not_a_server_error]\n'
                                                    'expected-statuses = ["2xx", "4xx", "501", "503"]\n')
        command = [sys.executable, "-m", "schemathesis.cli", "run", str(file), "--url",
                   f"http://127.0.0.1:{server.port}", "--checks", CHECKS,
                   "--phases", "examples,coverage,fuzzing", "--max-time", "30", "--max-examples", "25", "--seed", "1",
                   "--generation-database", "none",
                   "--no-shrink", "--warnings", "off", "--no-color", "--continue-on-failure"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
        assert server.get("/v2/health/live").status == 200
