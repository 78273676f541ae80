"""`ridge bench URL` of language models: against a server that answers by a script, and fails as real ones do."""

import csv
import http.server
import json
import os
import threading

import browser
import known_limits
import pytest
from bench_url import bench, measured

QUICK = ("--prompt", 3, "--output-tokens", 4, "--seconds", 20, "--iterations", 12)


class LlmServer(http.server.ThreadingHTTPServer):
    """`answer(number, handler, body)` answers a generation; by default as asked."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer=None, models=("m",), endpoint="/v1/completions"):
        self.answer, self.models, self.endpoint = answer or (lambda number, handler,
                                                             body: handler.generate(body)), models, endpoint
        self.bodies, self.headers, self.lock = [], [], threading.Lock()
        self.connections = 0
        super().__init__(("127.0.0.1", 0), Handler)

    def process_request(self, *arguments):
        self.connections += 1
        super().process_request(*arguments)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server_address[1]}{self.endpoint}"

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", len(body))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, *events):
        """Server-sent events in a chunked body; the connection ends without the last chunk where the last event is
        None."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            if event is None:
                self.close_connection = True
                return
            data = event if isinstance(event, bytes) else b"data: " + json.dumps(event).encode() + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def piece(self, text):
        chat = self.path.endswith("/chat/completions")
        return {"choices": [{"index": 0, **({"delta": {"content": text}} if chat else {"text": text})}]}

    def generate(self, body, tokens_per_event=1):
        count = body["max_tokens"]
        usage = {"prompt_tokens": 3, "completion_tokens": count}
        if not body.get("stream"):
            return self.reply(200, {"choices": [{"text": "a" * count}], "usage": usage})
        events = [self.piece("a" * tokens_per_event)] * (count // tokens_per_event or 1)
        self.stream(*events, {"choices": [], "usage": usage}, b"data: [DONE]\n\n")

    def do_GET(self):
        assert self.path == "/v1/models"
        self.reply(200, {"object": "list",
                         "data": [{"id": id, "object": "model", "owned_by": "test"} for id in self.server.models]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["max_tokens"] == 1:
            number = -1
        else:
            with self.server.lock:
                number = len(self.server.bodies)
                self.server.bodies.append(body)
                self.server.headers.append(dict(self.headers))
        self.server.answer(number, self, body)


@pytest.mark.parametrize("endpoint", ("/v1/completions", "/v1/chat/completions", "/v1"))
def test_streams_are_asked_for_and_their_tokens_counted(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server = LlmServer(endpoint=endpoint)
    with server as url:
        result = measured(url, "--prompt", "2..9", "--output-tokens", "3..6", "--seconds", 20, "--iterations", 12)
    assert (result["model"], result["server"]) == ("m", "test")
    assert result["token_load"]["prompt_tokens"] == {"low": 2, "high": 9} and result["token_load"]["streaming"]
    [point] = result["points"]
    tokens = point["tokens"]
    assert point["failed"] == 0 and tokens["requests"] == point["samples"] >= 12
    assert tokens["output_tokens"] == tokens["events"] and not tokens["counts_differ"]
    assert tokens["prompt_tokens"] == 3 * tokens["requests"], "by the server's usage"
    assert (tokens["output_tokens_per_s"]
            == pytest.approx(point["requests_per_s"] * tokens["output_tokens"] / tokens["requests"]))
    assert tokens["total_tokens_per_s"] == pytest.approx(tokens["output_tokens_per_s"] + tokens["prompt_tokens_per_s"])
    assert 0 < tokens["ttft_ms"]["min"] <= tokens["ttft_ms"]["p99"] <= point["latency_ms"]["max"]
    assert tokens["goodput_per_s"] is None
    body = server.bodies[0]
    assert (body["stream"] and body["stream_options"] == {"include_usage": True} and body["model"] == "m"
            and body["ignore_eos"])
    texts = [b["messages"][0]["content"] if "chat" in endpoint else b["prompt"] for b in server.bodies]
    assert {len(text.split()) for text in texts} <= set(range(2, 10)) and len({len(text.split()) for text in texts}) > 1
    assert {b["max_tokens"] for b in server.bodies} <= {3, 4, 5,
                                                        6} and len({b["max_tokens"] for b in server.bodies}) > 1
    assert server.headers[0]["Authorization"] == "Bearer secret"


CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
          "num_attention_heads": 2,
          "num_key_value_heads": 1, "head_dim": 32, "intermediate_size": 128, "vocab_size": 256,
          "max_position_embeddings": 512}


def test_its_page_has_the_figures_of_tokens_their_limits_and_what_comes_next(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(known_limits.fill(tmp_path / "cache")))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    path, kept = tmp_path / "page.html", tmp_path / "kept.json"
    with LlmServer() as url:
        done = bench(url, *QUICK, "--model", tmp_path / "config.json", "--device", "H100 SXM5 80GB", "-c", "1,2",
                     "--html", path, "-o", kept)
    assert done.returncode == 0, done.stderr
    document = json.loads(kept.read_text())
    assert any("--rate" in line for line in document["next"]) and all(line in done.stdout for line in document["next"])
    browser.check_fits(path, 390)
    browser.check_figures(path, document, {f"points.1.{name}" for name in (
        "tokens.output_tokens_per_s", "tokens.ttft_ms.p50", "tokens.ttft_ms.p99", "tokens.tpot_ms.p50",
        "tokens.limit.ttft_ms", "tokens.limit.tpot_percent_of_limit", "percent_of_limit")})
    browser.check_chinese(path)
    browser.check_paper(path)
    with browser.shown(path, 1280) as (page, _):
        assert (page.locator("#next code").all_text_contents() == document["next"]
                and page.locator("#curve").count() == 0)
        if folder := os.environ.get("RIDGE_SCREENSHOTS"):
            page.screenshot(path=f"{folder}/bench-llm.png", full_page=True)


def test_with_the_model_and_its_device_the_limits_stand_beside_the_figures(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(known_limits.fill(tmp_path / "cache")))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    gpu = ("--model", tmp_path / "config.json", "--device", "H100 SXM5 80GB", "--cache", "bf16")
    with LlmServer() as url:
        result = measured(url, *QUICK, *gpu, "--weights", "fp32")
        narrow = measured(url, *QUICK, *gpu)
        text = bench(url, *QUICK, *gpu).stdout
        table = bench(url, *QUICK, *gpu, "-c", "1,2").stdout
        here = measured(url, *QUICK, "--model", tmp_path)
        alone = bench(url, *QUICK, "--cache", "bf16")
        nowhere = bench(url, *QUICK, "--model", tmp_path / "missing")
    # Matrices and norms of two layers, a last norm and the head, in 4 and in 2 bytes.
    weights = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64 + 256 * 64
    assert result["token_limit"] == {"model": str(tmp_path / "config.json"), "weights": "fp32", "cache": "bf16",
                                     "weight_bytes": 4 * weights, "device": "H100 SXM5 80GB"}
    assert narrow["token_limit"]["weight_bytes"] == 2 * weights and narrow["token_limit"]["weights"] == "bf16"
    for measurement in (result, narrow, here):
        [point] = measurement["points"]
        tokens, limit = point["tokens"], point["tokens"]["limit"]
        assert (point["percent_of_limit"]
                == pytest.approx(100 * tokens["output_tokens_per_s"] / limit["output_tokens_per_s"]))
        assert limit["ttft_percent_of_limit"] == pytest.approx(100 * limit["ttft_ms"] / tokens["ttft_ms"]["mean"])
        assert limit["tpot_percent_of_limit"] == pytest.approx(100 * limit["tpot_ms"] / tokens["tpot_ms"]["mean"])
        assert limit["decoding"] == 1 and limit["ttft_ms"] > 0 and limit["tpot_ms"] > 0
    for words in ("share of the limit", "a prompt of 3 tokens alone", "a step of 1 at once", "bf16 weights",
                  "on H100 SXM5 80GB"):
        assert words in text, text
    for words in ("tokens/s limit", "TTFT limit", "TPOT limit", "share of the limit"):
        assert words in table, table
    assert alone.returncode == 2 and "give --model too" in alone.stderr
    assert nowhere.returncode == 3 and "missing" in nowhere.stderr


def test_no_two_requests_are_alike_and_a_seed_gives_the_same_again():
    def prompts(*words):
        server = LlmServer()
        with server as url:
            measured(url, "--prompt", 30, "--output-tokens", 2, "--seconds", 20, "--iterations", 10, *words)
        return [body["prompt"] for body in server.bodies]

    first = prompts("--seed", 1)[:10]
    assert prompts("--seed", 1)[:10] == first and len(set(first)) == 10
    assert not set(prompts("--seed", 2)) & set(first)
    assert not set(prompts()) & set(prompts()), "a server may keep the prompts of an earlier run"
    several = prompts("-c", "1,2,4")
    assert len(several) >= 30 and len(set(several)) == len(several), "or of an earlier load"


def test_a_whole_answer_has_usage_and_no_first_token():
    server = LlmServer()
    with server as url:
        [point] = measured(url, "--no-stream", *QUICK)["points"]
    assert point["failed"] == 0 and point["tokens"]["output_tokens"] == 4 * point["samples"]
    assert point["tokens"]["ttft_ms"] is None and point["tokens"]["events"] == 0
    assert "stream" not in server.bodies[0]


def test_a_trace_is_sent_in_its_order_at_its_times(tmp_path):
    rows = [(0, 5, 2), (0.01, 2, 3), (0.02, 9, 4), (0.3, 1, 5)]
    (tmp_path / "trace.csv").write_text("seconds,prompt,output\n" + "".join(f"{s},{p},{o}\n" for s, p, o in rows))
    server = LlmServer()
    with server as url:
        result = measured(url, "--requests", tmp_path / "trace.csv")
        assert bench(url, "--requests", tmp_path / "trace.csv", "--prompt", 4).returncode == 2
        assert bench(url, "--requests", tmp_path / "trace.csv", "--client-threads", 2).returncode == 2
        assert bench(url, "--requests", tmp_path / "none.csv").returncode != 0
    [point] = result["points"]
    assert point["samples"] == 4 and point["failed"] == 0 and point["load"]["rate_per_s"] == pytest.approx(4 / 0.3)
    # Connections of their own: those close together may be read in another order.
    assert sorted((len(body["prompt"].split()), body["max_tokens"])
                  for body in server.bodies) == sorted((p, o) for _, p, o in rows)
    assert server.bodies[3]["max_tokens"] == 5
    assert result["token_load"]["output_tokens"] == {"low": 2, "high": 5}


def test_goodput_counts_requests_within_the_goals():
    with LlmServer() as url:
        [point] = measured(url, "--ttft-ms", 60_000, "--tpot-ms", 60_000, *QUICK)["points"]
        assert point["tokens"]["goodput_per_s"] == pytest.approx(point["requests_per_s"])
        [point] = measured(url, "--ttft-ms", 1e-6, *QUICK)["points"]
        assert point["tokens"]["goodput_per_s"] == 0


def test_a_rate_opens_connections_as_it_needs_them():
    server = LlmServer()
    with server as url:
        [point] = measured(url, "--rate", 40, *QUICK)["points"]
    assert point["concurrency"] == 1024 and 1 < server.connections < 200


def test_several_loads_are_a_table_and_a_rate_is_kept():
    with LlmServer() as url:
        done = bench(url, "-c", "1,2", *QUICK)
        assert (done.returncode == 0 and "TTFT p99" in done.stdout and "tokens/s" in done.stdout
                and "rows/s" not in done.stdout)
        assert " --poisson" in done.stdout.rpartition("next:")[2]
        rows = list(csv.DictReader(bench(url, "-c", "1,2", *QUICK, "--csv").stdout.splitlines()))
        assert len(rows) == 2 and all(float(row["ttft_p99_ms"]) > 0 and float(row["output_tokens_per_s"]) > 0
                                      for row in rows)
        [point] = measured(url, "--rate", 40, "--poisson", *QUICK)["points"]
        assert point["load"]["rate_per_s"] == 40 and point["tokens"]["late_ms"]["p50"] < 1000
        text = bench(url, "--rate", 40, *QUICK).stdout
    assert "first token" in text and "sent late" in text


def test_several_tokens_in_one_event_are_said():
    with LlmServer(answer=lambda number, handler, body: handler.generate(body, 2)) as url:
        [point] = measured(url, *QUICK)["points"]
        assert point["tokens"]["counts_differ"] and point["tokens"]["output_tokens"] == 2 * point["tokens"]["events"]
        assert "2 tokens per event" in bench(url, *QUICK).stdout


def broken(kind):
    def answer(number, handler, body):
        usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
        done = b"data: [DONE]\n\n"
        text = handler.piece("a")
        if number < 0 or number % 3 != 2:
            return handler.generate(body)
        if kind == "429":
            return handler.reply(429, {"error": {"message": "too many requests", "type": "rate_limit", "code": 429}})
        handler.stream(*{
            "no [DONE]": [text, usage],
            "no usage": [text, done],
            "no tokens": [usage, done],
            "malformed answer": [text, b"data: {\"choices\": [\n\n", usage, done],
            "connection closed": [text, None],
            "error in the answer": [text, {"error": {"message": "out of blocks"}}, done],
        }[kind])

    return answer


@pytest.mark.parametrize("kind, why", (
    ("429", "too many requests"), ("no [DONE]", "without 'data: [DONE]'"), ("no usage", "include_usage"),
    ("no tokens", "no text"),
    ("malformed answer", '{"choices": ['), ("connection closed", "before its answer was complete"),
    ("error in the answer", "out of blocks")))
def test_answers_that_are_none_are_failures_by_reason(kind, why):
    with LlmServer(answer=broken(kind)) as url:
        [point] = measured(url, *QUICK)["points"]
    assert list(point["failures"]) == [kind] and why in point["problems"][kind]
    assert point["samples"] >= 12 and point["tokens"]["requests"] == point["samples"]
    assert point["tokens"]["output_tokens"] == 4 * point["samples"]


def test_a_server_that_always_refuses_is_a_failure():
    with LlmServer(answer=lambda number, handler, body: handler.reply(429, {"error": {"message": "busy"}})) as url:
        done = bench(url, "--seconds", 1)
    assert done.returncode == 3 and "× 429, the first with: busy" in done.stdout


def test_a_stream_that_stops_times_out():
    held = threading.Event()

    def hold(number, handler, body):
        if number < 0:
            return handler.generate(body)
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b'data: {"choices":[{"text":"a"}]}\n\n')
        handler.wfile.flush()
        held.wait(60)
        handler.close_connection = True

    with LlmServer(answer=hold) as url:
        done = bench(url, "--seconds", 1, "--timeout-ms", 50)
        held.set()
    assert done.returncode == 3 and "× timeout" in done.stdout


def test_ignore_eos_is_left_out_where_it_is_refused():
    def strict(number, handler, body):
        if "ignore_eos" in body:
            return handler.reply(400, {"error": {"message": "unknown member ignore_eos"}})
        handler.generate(body)

    server = LlmServer(answer=strict)
    with server as url:
        result = measured(url, *QUICK)
    assert (result["points"][0]["failed"] == 0 and not result["token_load"]["ignore_eos"]
            and "ignore_eos" in result["notes"][0])


def test_a_model_is_chosen_or_named():
    with LlmServer(models=("a", "b")) as url:
        done = bench(url)
        assert done.returncode == 2 and "2 models: a, b; name one by --model-name" in done.stderr
        assert measured(url, "--model-name", "b", *QUICK)["model"] == "b"
        assert bench(url, "--model-name", "c").returncode == 2
    with LlmServer(answer=lambda number, handler, body: handler.reply(401, {"error": {"message": "no key"}})) as url:
        done = bench(url)
        assert done.returncode == 2 and "401 no key" in done.stderr
