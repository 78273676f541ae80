"""`ridge bench URL`: against ridge serve, and against servers that fail as real ones do."""

import http.server
import json
import os
import signal
import socket
import subprocess
import threading

import models
import numpy as np
import pytest
import schemas
from bench_url import bench, measured, url_of
from server import RIDGE, Server, wait_until


def test_a_closed_loop_is_what_the_server_counts_too(served):
    result = measured(url_of(served, "identity"), "--concurrency", "1,4", "--seconds", 2)
    assert (result["model"], result["model_version"], result["payload"],
            result["on_this_machine"]) == ("identity", "1", "binary", True)
    assert result["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [1, 16], "source": "random, seed 1"}]
    assert [point["concurrency"] for point in result["points"]] == [1, 4]
    for point in result["points"]:
        assert point["failed"] == 0 and point["rate_per_s"] is None
        latency = point["latency_ms"]
        assert 0 < latency["min"] <= latency["p50"] <= latency["p99"] <= latency["max"]
        # Between the readings of the statistics a few requests more or fewer end than are counted.
        assert abs(point["server"]["requests"] - point["samples"]) < 0.2 * point["samples"] + 50
        assert point["server"]["queue_ms"] + point["server"]["compute_infer_ms"] < latency["mean"]
    success = served.statistics("identity")["inference_stats"]["success"]["count"]
    assert success >= sum(point["samples"] for point in result["points"])


def test_a_kept_result_is_shown_as_it_was(served, tmp_path):
    kept = tmp_path / "kept.json"
    done = bench(url_of(served, "identity"), "--concurrency", "1,2", "--seconds", 1, "-o", kept)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([RIDGE, "show", str(kept), "--quiet"], capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, shown.stderr
    origin, result = shown.stdout.split("\n\n", 1)
    assert "ridge bench http" in origin
    assert done.stdout.startswith(result)
    listed = subprocess.run([RIDGE, "history", "identity.onnx", str(kept)], capture_output=True, text=True, timeout=60)
    assert "/v2/models/identity · batch 1 · " in listed.stdout and "caller" in listed.stdout, listed.stdout


def test_other_work_beside_a_server_on_this_machine_is_said(served, monkeypatch):
    monkeypatch.delenv("RIDGE_PROC_ROOT", raising=False)
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(len(os.sched_getaffinity(0)))]
    try:
        result = measured(url_of(served, "identity"), "--iterations", 20)
        text = bench(url_of(served, "identity"), "--iterations", 20).stdout
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert result["on_this_machine"] and result["disturbance"]["disturbed"]
    assert result["disturbance"]["other_cpus"] > 0.5 * len(others)
    assert "(before the load)" in text


def test_an_open_loop_sends_the_rate_that_is_asked(served):
    [point] = measured(url_of(served, "scripted"), "--rate", 50, "--iterations", 60, "--seconds", 60)["points"]
    assert point["rate_per_s"] == 50 and point["samples"] >= 60
    assert point["load"]["rate_per_s"] == 50
    assert point["latency_ms"]["min"] >= 2, "a run of the scripted model takes 2 ms"


def test_a_search_answers_with_a_rate_or_with_no(served):
    done = bench(url_of(served, "scripted"), "--p99-ms", 1, "--seconds", 3, "--json")
    answer = json.loads(done.stdout)["search"]
    assert done.returncode == 1 and answer["highest_rate_per_s"] is None, "a run takes 2 ms"
    assert answer["limiter"] == "latency"
    done = bench(url_of(served, "scripted"), "--p99-ms", 60_000, "--seconds", 4, "--json")
    answer = json.loads(done.stdout)["search"]
    assert (done.returncode == 0) == (answer["highest_rate_per_s"] is not None)


def test_a_batch_counts_rows(served):
    result = measured(url_of(served, "identity"), "--batch", 3, "--seconds", 1)
    assert result["batch"] == 3 and result["inputs"][0]["shape"] == [3, 16]
    [point] = result["points"]
    assert point["throughput_per_s"] == pytest.approx(3 * point["requests_per_s"])
    assert "3" in point["server"]["batches"]


def test_what_is_not_there_is_named(served):
    done = bench(url_of(served, "idenity"))
    assert done.returncode == 3 and "it has identity, scripted, steps; did you mean 'identity'?" in done.stderr
    done = bench(f"http://127.0.0.1:{served.port}")
    assert done.returncode == 2 and "has 3 models: identity, scripted, steps" in done.stderr
    done = bench(url_of(served, "identity"), "--shape", "y=1x16")
    assert done.returncode == 2 and "has no input 'y'" in done.stderr
    done = bench(url_of(served, "identity"), "--shape", "x=1x17")
    assert done.returncode == 2 and "[-1,16]" in done.stderr


@pytest.mark.parametrize("scheme", ("http", "grpc"))
def test_interrupted_it_shows_what_it_has(served, scheme):
    child = subprocess.Popen([RIDGE, "bench", url_of(served, "scripted", scheme), "-c", "1,2,4", "--seconds", "600",
                              "--json"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: served.statistics("scripted")["inference_stats"]["success"]["count"] > 50)
    child.send_signal(signal.SIGINT)
    result = json.loads(child.communicate(timeout=60)[0])
    assert child.returncode == 0 and result["interrupted"]
    assert [point["interrupted"] for point in result["points"]] == [True] and result["points"][0]["samples"] > 0


@pytest.mark.parametrize("scheme", ("http", "grpc"))
def test_a_server_that_goes_away_ends_it(repository, scheme):
    with Server(repository, check_exit=False) as server:
        child = subprocess.Popen([RIDGE, "bench", url_of(server, "identity", scheme), "--seconds", "600", "--json"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: server.statistics("identity")["inference_stats"]["success"]["count"] > 50)
        server.process.kill()
        result = json.loads(child.communicate(timeout=60)[0])
    assert child.returncode == 3 and "refused" in result["ended_early"]
    assert "no connection" in result["points"][0]["problems"]


def test_a_closed_port_is_refused():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        done = bench(f"http://127.0.0.1:{unused.getsockname()[1]}/v2/models/m")
    assert done.returncode == 3 and "Connection refused" in done.stderr


# ------------------------------------------------------------------------------------------- servers of another make


class OtherServer(http.server.ThreadingHTTPServer):
    """A server of the protocol with no extensions.

    `answer(number, request)` → (status, {header: value}), and the body's JSON if it is another.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, shape=(-1, 2), answer=lambda number, request: (200, {})):
        self.shape, self.answer, self.bodies, self.lock = list(shape), answer, [], threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server_address[1]}/v2/models/m"

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value, headers=()):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": len(body), **dict(headers)}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(
            *{
                "/v2": (200, {"name": "other", "version": "1"}), "/v2/models/m": (200, {
                    "name":
                    "m", "versions": [], "inputs": [{"name": "x", "datatype": "FP32", "shape": self.server.shape}],
                    "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1]}]
                })
            }.get(self.path, (404, {"error": "none"})))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            number = len(self.server.bodies)
            self.server.bodies.append((dict(self.headers), body))
        status, headers, *other = self.server.answer(number, self)
        self.reply(status, other[0] if other else {"model_name": "m", "outputs": []}
                   if status == 200 else {"error": "sorry"}, headers)
        self.close_connection = headers.get("Connection") == "close"


def only_json(number, request):
    return (400 if "Inference-Header-Content-Length" in request.headers else 200), {}


def test_json_is_sent_where_binary_tensors_are_refused():
    server = OtherServer(answer=only_json)
    with server as url:
        result = measured(url, "--seconds", 1)
    assert result["payload"] == "json" and "refused binary" in result["notes"][0]
    assert result["points"][0]["server"] is None and result["points"][0]["failed"] == 0
    [x] = json.loads(server.bodies[-1][1])["inputs"]
    assert x["shape"] == [1, 2] and len(x["data"]) == 2
    with OtherServer(answer=only_json) as url:
        assert bench(url, "--payload", "binary").returncode == 2


def test_data_comes_from_files(tmp_path):
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.save(tmp_path / "x.npy", rows)
    np.savez(tmp_path / "all.npz", x=rows)
    for given in (f"x={tmp_path}/x.npy", tmp_path / "all.npz"):
        server = OtherServer()
        with server as url:
            result = measured(url, "--input", given, "--batch", 2, "--payload", "json", "--seconds", 1)
        assert result["requests"] == 2 and str(tmp_path) in result["inputs"][0]["source"]
        data = [json.loads(body)["inputs"][0] for _, body in server.bodies[1:5]]
        assert [x["data"] for x in data] == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2
        assert {tuple(x["shape"]) for x in data} == {(2, 2)}
    with OtherServer() as url:
        assert bench(url, "--input", f"z={tmp_path}/x.npy").returncode == 2
        assert bench(url, "--input", f"x={tmp_path}/x.npy", "--batch", 6).returncode == 2


def test_failures_are_counted_and_are_no_answers():
    with OtherServer(answer=lambda number, request: (503 if number % 3 == 2 else 200, {})) as url:
        [point] = measured(url, "--seconds", 1)["points"]
    assert list(point["failures"]) == ["503"] and point["problems"] == {"503": "sorry"}
    assert point["failed"] == pytest.approx(point["samples"] / 2, abs=2)


def test_a_server_that_fails_every_request_is_a_failure():
    with OtherServer(answer=lambda number, request: (200 if number == 0 else 500, {})) as url:
        done = bench(url, "--seconds", 1)
    assert done.returncode == 3 and "× 500, the first with: sorry" in done.stdout


def test_a_server_that_closes_every_connection_is_measured_and_named():
    with OtherServer(answer=lambda number, request: (200, {"Connection": "close"})) as url:
        done = bench(url, "--seconds", 1)
    assert done.returncode == 0, done.stderr
    assert "closed its connections" in done.stdout


def test_open_dimensions_need_a_shape():
    with OtherServer(shape=(-1, -1, 3)) as url:
        done = bench(url)
        assert done.returncode == 2 and "--shape x=1x128x3" in done.stderr
        result = measured(url, "--shape", "x=2x5x3", "--seconds", 1)
    assert result["batch"] == 2 and result["inputs"][0]["shape"] == [2, 5, 3]


def test_a_request_without_an_answer_times_out():
    held = threading.Event()

    def hold(number, request):
        if number > 0:
            held.wait(60)
        return 200, {}

    with OtherServer(answer=hold) as url:
        done = bench(url, "--seconds", 1, "--timeout-ms", 50)
        held.set()
    assert done.returncode == 3 and "× timeout, the first with: no answer within 50 ms" in done.stdout


def test_figures_have_intervals_and_a_kept_result_all_samples(served, tmp_path):
    result = measured(url_of(served, "identity"), "--concurrency", "1,2", "--seconds", 2)
    for point in result["points"]:
        interval = point["throughput_ci95_per_s"]
        assert interval["low"] is None or interval["low"] < point["throughput_per_s"] < interval["high"]
        assert sum(point["histogram"]["counts"]) == point["samples"]
    text = bench(url_of(served, "identity"), "--seconds", 1, "-o", tmp_path / "one.json").stdout
    [point] = json.loads((tmp_path / "one.json").read_text())["points"]
    known = {**point["latency_ci95_ms"],
             "throughput": point["throughput_ci95_per_s"]}  # a busy machine's rate may have none
    for figure in ("p50", "p90", "p95", "throughput"):
        line = next(line for line in text.splitlines() if line.strip().startswith(figure))
        assert ("at 95 %" in line) == (known[figure]["low"] is not None), line
    table = bench(url_of(served, "identity"), "--concurrency", "1,2", "--seconds", 1).stdout
    assert "rows/s at 95 %" in table and "p99 at 95 %" in table
    opened = measured(url_of(served, "identity"), "--rate", 50, "--seconds", 1)["points"][0]
    assert opened["throughput_ci95_per_s"] == {"low": None, "high": None}, "the load gives it"


def test_a_trace_has_every_request_of_every_connection(served, tmp_path):
    trace = tmp_path / "trace.json"
    points = measured(url_of(served, "scripted"), "--concurrency", "1,2", "--seconds", 2, "--trace", trace)["points"]
    events = json.loads(trace.read_text())
    for number, point in enumerate(points, start=1):
        spans = [event for event in events if event["ph"] == "X" and event["pid"] == number]
        assert len(spans) == point["samples"] and {span["tid"] for span in spans} == set(range(point["concurrency"]))
        assert min(span["dur"] for span in spans) == pytest.approx(1e3 * point["latency_ms"]["min"], rel=0.01)
    assert {event["args"]["name"] for event in events
            if event["name"] == "process_name"} == {"scripted, 1 caller", "scripted, 2 callers"}
    with OtherServer(answer=lambda number, request: (503 if number % 3 == 2 else 200, {})) as url:
        [point] = measured(url, "--seconds", 1, "--trace", trace)["points"]
    names = [event["name"] for event in json.loads(trace.read_text()) if event["ph"] == "X"]
    assert names.count("503") == point["failed"] and names.count("run") == point["samples"]


def test_two_results_of_a_server_are_compared_load_by_load(served, tmp_path):
    def kept(name, callers, model="identity"):
        done = bench(url_of(served, model), "--concurrency", callers, "--seconds", 1, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr

    def compared(*words, exit=0):
        done = subprocess.run([RIDGE, "compare", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == exit, done.stderr
        return done.stdout

    kept("one.json", "1,2")
    kept("two.json", "2,4")
    kept("slow.json", "1", "scripted")
    result = json.loads(compared("one.json", "two.json", "--json"))
    assert not schemas.errors_of("compare", result)
    assert [figure["id"] for figure in result["figures"]] == [f"callers-2.{of}"
                                                              for of in ("throughput", "mean", "p50", "p90", "p99")]
    assert [caveat["id"] for caveat in result["caveats"]
            if caveat["id"] == "other-load"] == ["other-load", "other-load"]
    assert "p99 at 2 callers" in compared("one.json", "two.json")
    slower = json.loads(compared("one.json", "slow.json", "--json"))
    if slower["judged"]:
        assert slower["slower"] and slower["figures"][0]["verdict"] == "regressed"
    assert {caveat["id"] for caveat in slower["caveats"]} >= {"other-model", "other-server"}


@pytest.mark.parametrize("body, kind", [({"error": "in a 200"}, "error in the answer"),
                                        ({"model_name": "m"}, "malformed answer"), ([], "malformed answer"),
                                        ({"outputs": [], "error": "late"}, "error in the answer")])
@pytest.mark.parametrize("payload", ["json", "binary"])
def test_an_answer_of_status_200_without_outputs_is_a_failure(body, kind, payload):
    with OtherServer(answer=lambda number, request: (200, {}, body) if number % 2 else (200, {})) as url:
        [point] = measured(url, "--seconds", 0.5, "--payload", payload)["points"]
    assert (point["failures"] == {kind: point["failed"]}
            and abs(point["failed"] - point["samples"]) < 0.2 * point["samples"] + 2)
    if "error" in body:
        assert point["problems"][kind] == body["error"]


def test_what_to_do_next_keeps_the_request_and_follows_a_search(served):
    def lines(*words):
        text = bench(url_of(served, "scripted"), *words).stdout
        return [line.strip() for line in text.rpartition("next:\n")[2].splitlines()]

    url = url_of(served, "scripted")
    first = lines("--batch", 2, "--payload", "json", "--seconds", 1)
    assert first[0] == f"ridge bench {url} --batch 2 --payload json --concurrency 1..64"
    assert first[1].startswith(f"ridge bench {url} --batch 2 --payload json --p99-ms ")
    found = lines("--p99-ms", 1000, "--seconds", 3)
    assert (len(found) == 1 and found[0].startswith(f"ridge bench {url} --rate ")
            and found[0].endswith(" -o server.json"))
    assert lines("--p99-ms", 0.01, "--seconds", 3) == [f"ridge bench {url} --concurrency 1"]
