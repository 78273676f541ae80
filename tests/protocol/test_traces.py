"""Traces: spans at a collector of OpenTelemetry, the W3C context over HTTP and gRPC, settings by both protocols, a
collector that does not answer."""

import http.server
import json
import socket
import subprocess
import threading

import numpy
import pytest
import tritonclient.grpc as grpc_library
import tritonclient.http as http_library
from tritonclient.utils import InferenceServerException

from server import RIDGE, Server, fp32, wait_until

REQUEST = {"id": "r1", "inputs": [fp32("x", [1, 16], [1.0] * 16)]}
STAGES = ["receive", "queue", "input", "infer", "output", "send"]
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTEXT = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}


class Collector:
    """Takes OTLP over HTTP as JSON."""

    def __init__(self, status=200):
        self.spans, self.resources, collector = [], [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
                for resource in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["resourceSpans"]:
                    collector.resources.append({each["key"]: each["value"]["stringValue"]
                                                for each in resource["resource"]["attributes"]})
                    for scope in resource["scopeSpans"]:
                        collector.spans += scope["spans"]
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count):
        """Spans of that many requests, as [request, {stage: span}]."""
        roots = lambda: [span for span in self.spans if span["name"] == "InferRequest"]
        wait_until(lambda: len(roots()) >= count)
        assert len(roots()) == count
        return [(root, {span["name"]: span for span in self.spans if span.get("parentSpanId") == root["spanId"]})
                for root in roots()]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.close()


def traced(repository, url, *arguments, **options):
    settings = [f"opentelemetry,url={url}", "opentelemetry,bsp_schedule_delay=20", "level=TIMESTAMPS", *arguments]
    return Server(repository, *(f"--trace-config={each}" for each in settings), **options)


def attributes(span):
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def value():
    made = grpc_library.InferInput("x", [1, 16], "FP32")
    made.set_data_from_numpy(numpy.ones((1, 16), numpy.float32))
    return made


def test_spans_of_http_and_grpc_with_the_callers_context(repository, collector, tmp_path):
    access = tmp_path / "access"
    with traced(repository, collector.url, "rate=1000000", "opentelemetry,resource=service.name=shop",
                wait_ready=True) as server:
        assert server.infer("identity", REQUEST).status == 200  # the first of a million
        assert server.infer("identity", REQUEST).status == 200
        assert server.infer("identity", REQUEST, CONTEXT).status == 200
        assert server.infer("identity", REQUEST, {"traceparent": f"00-{TRACE}-{PARENT}-00"}).status == 200
        with grpc_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as client:
            client.infer("identity", [value()], request_id="g1", headers=CONTEXT)
            answered = threading.Semaphore(0)
            client.start_stream(lambda result, error: answered.release(), headers=CONTEXT)
            for _ in range(2):
                client.async_stream_infer("identity", [value()], request_id="s")
            for _ in range(2):
                assert answered.acquire(timeout=60)
            client.stop_stream()
        own, http, grpc, *stream = collector.wait(5)
        assert collector.resources[0]["service.name"] == "shop"
        for root, stages in (own, http, grpc, *stream):
            assert list(stages) == STAGES
            times = [int(root["startTimeUnixNano"])] + [int(stages[name]["endTimeUnixNano"]) for name in STAGES]
            assert times == sorted(times) and times[-1] == int(root["endTimeUnixNano"])
            assert all(stages[name]["traceId"] == root["traceId"] for name in STAGES)
        assert "parentSpanId" not in own[0] and own[0]["traceId"] != TRACE
        for root, _ in (http, grpc, *stream):
            assert (root["traceId"], root["parentSpanId"], root["traceState"]) == (TRACE, PARENT, "vendor=1")
        assert attributes(http[0]) == {"triton.model_name": "identity", "triton.model_version": "1",
                                       "triton.request_id": "r1", "ridge.protocol": "http",
                                       "ridge.batch_rows": "1", "ridge.batch_requests": "1"}
        assert attributes(grpc[0])["triton.request_id"] == "g1" and attributes(grpc[0])["ridge.protocol"] == "grpc"
        # Counted once the collector has answered
        wait_until(lambda: f'ridge_trace_spans{{outcome="sent"}} {5 * 7}' in server.metrics())


def test_a_request_that_fails_says_why_and_the_last_traces_are_sent(repository, collector, tmp_path):
    access = tmp_path / "access"
    with traced(repository, collector.url, "rate=1") as server:
        assert server.infer("nope", REQUEST).status == 404
        assert server.infer("identity", b"{broken").status == 400
        outside = grpc_library.InferInput("x", [1, 1], "INT64")
        outside.set_data_from_numpy(numpy.full((1, 1), 99, numpy.int64))
        assert server.infer("table", {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "INT64",
                                                  "data": [99]}]}).status == 500
        with grpc_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as client:
            for model, given in ("nope", value()), ("table", outside):
                with pytest.raises(InferenceServerException):
                    client.infer(model, [given])
        (unknown, none), (broken, _), (failed, _), (grpc_unknown, _), (grpc_failed, _) = collector.wait(5)
        assert none == {}
        for clients in unknown, broken, grpc_unknown:  # its own errors
            assert "status" not in clients
        for servers in failed, grpc_failed:
            assert servers["status"]["code"] == 2 and servers["status"]["message"].startswith("model 'table'"), servers
    with Server(repository, "--trace-config", f"opentelemetry,url={collector.url}", "--trace-config",
                "level=TIMESTAMPS", "--trace-config", "rate=1",
                "--trace-config", "opentelemetry,bsp_schedule_delay=600000", "--access-log", access) as server:
        assert server.infer("identity", REQUEST).status == 200
        wait_until(lambda: access.exists() and "/infer" in access.read_text())
    last, _ = collector.wait(6)[5]
    assert access.read_text().splitlines()[-1].split()[-1] == last["traceId"]


def test_settings_over_http_and_grpc(repository, collector):
    with traced(repository, collector.url, "rate=5", "count=7") as server:
        with (http_library.InferenceServerClient(f"127.0.0.1:{server.port}") as http,
              grpc_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as grpc):
            start = {"trace_level": ["TIMESTAMPS"], "trace_rate": "5", "trace_count": "7", "log_frequency": "0",
                     "trace_file": "", "trace_mode": "opentelemetry"}
            assert "trace" in server.get("/v2").json()["extensions"]
            assert server.post("/v2/trace/setting", {"trace_level": "OFF"}).status == 400, "it is a list"
            assert http.get_trace_settings() == start == http.get_trace_settings("identity")
            assert http.update_trace_settings("identity",
                                              settings={"trace_rate": "1", "trace_count": "-1"})["trace_rate"] == "1"
            assert grpc.get_trace_settings("identity", as_json=True)["settings"]["trace_rate"]["value"] == ["1"]
            assert grpc.get_trace_settings(as_json=True)["settings"]["trace_rate"]["value"] == ["5"]
            for _ in range(3):
                assert server.infer("identity", REQUEST).status == 200
            collector.wait(3)
            assert grpc.update_trace_settings("identity", settings={"trace_level": "OFF"},
                                              as_json=True)["settings"]["trace_level"]["value"] == ["OFF"]
            assert server.infer("identity", REQUEST, CONTEXT).status == 200
            assert http.update_trace_settings("identity", settings={"trace_level": None, "trace_rate": None,
                                                                    "trace_count": None}) == start
            for settings in ({"trace_level": ["TENSORS"]}, {"trace_rate": "0"}, {"trace_file": "/tmp/x"},
                             {"log_frequency": "1"}, {"trace_mode": "triton"}, {"other": "1"}):
                with pytest.raises(InferenceServerException):
                    http.update_trace_settings(settings=settings)
                with pytest.raises(InferenceServerException):
                    grpc.update_trace_settings(settings=settings)
            assert "trace" in server.get("/v2").json()["extensions"]
            assert server.post("/v2/trace/setting", {"trace_level": "OFF"}).status == 400, "it is a list"
            assert http.get_trace_settings() == start
            with pytest.raises(InferenceServerException, match="nope"):
                http.get_trace_settings("nope")
            with pytest.raises(InferenceServerException, match="nope"):
                grpc.get_trace_settings("nope")
        collector.wait(3)


def test_without_traces_all_is_off_and_cannot_be_changed(server):
    assert server.get("/v2/trace/setting").json()["trace_level"] == ["OFF"]
    answer = server.post("/v2/trace/setting", {"trace_level": ["TIMESTAMPS"]})
    assert answer.status == 503 and "--trace-config" in answer.json()["error"]
    assert "ridge_trace_spans" not in server.metrics()


def test_a_collector_that_is_not_there_or_refuses_changes_nothing(repository):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with traced(repository, f"http://127.0.0.1:{unused.getsockname()[1]}", "rate=1",
                    "opentelemetry,bsp_max_queue_size=10") as server:
            for _ in range(50):
                assert server.infer("identity", REQUEST).status == 200
            wait_until(lambda: f'ridge_trace_spans{{outcome="dropped"}} {50 * 7}' in server.metrics())
            assert 'ridge_trace_spans{outcome="sent"} 0' in server.metrics()
            assert server.read_log().count("traces are dropped") == 1
    refuses = Collector(status=500)
    with traced(repository, refuses.url, "rate=1") as server:
        assert server.infer("identity", REQUEST).status == 200
        wait_until(lambda: 'ridge_trace_spans{outcome="dropped"} 7' in server.metrics())
        server.wait_log("status 500")
    refuses.close()


def test_the_end_does_not_wait_for_a_collector_that_does_not_answer(repository):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = (f"opentelemetry,url=http://127.0.0.1:{silent.getsockname()[1]}",
                    "opentelemetry,bsp_schedule_delay=20", "level=TIMESTAMPS", "rate=1")
        with Server(repository, "--exit-timeout-secs=3", *(f"--trace-config={each}" for each in settings)) as server:
            assert server.infer("identity", REQUEST).status == 200
            with silent.accept()[0]:  # a batch is under way
                assert server.infer("identity", REQUEST).status == 200
                assert server.stop() == 0
            log = server.read_log()
            assert "the last 14 spans of traces are dropped" in log and "a model was still" not in log


@pytest.mark.parametrize("setting", ["triton,file=/tmp/x", "rate=0", "level=TENSORS",
                                     "opentelemetry,url=https://collector:4318/v1/traces"])
def test_wrong_settings_are_wrong_usage(repository, setting):
    done = subprocess.run([RIDGE, "serve", str(repository), "--trace-config", setting], capture_output=True, text=True)
    assert done.returncode == 2 and f"--trace-config {setting}" in done.stderr
