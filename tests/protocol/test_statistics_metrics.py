"""Contract sections 11 and 12: statistics and Prometheus metrics, and that they agree."""

import re
import time

import models
import pytest
from server import Server, fp32

DURATIONS = ["success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"]


@pytest.fixture
def fresh(repository):
    with Server(repository) as running:
        yield running


def send(server, rows, model="identity", width=16, **kwargs):
    return server.infer(model, {"inputs": [fp32("x", [rows, width], [1.0] * rows * width)]}, **kwargs)


def settled(server, model, reached):
    """The statistics once that is true of them; counters may lag an answer by a moment."""
    end = time.monotonic() + 20
    while not reached(statistics := server.statistics(model)) and time.monotonic() < end:
        time.sleep(0.01)
    return statistics


def executed(server, model, executions):
    return settled(server, model, lambda statistics: statistics["execution_count"] >= executions)


def failed(server, model):
    return settled(server, model, lambda statistics: statistics["inference_stats"]["fail"]["count"] > 0)


def test_all_eight_durations_are_unsigned_numbers_from_the_start(fresh):
    statistics = fresh.statistics("identity")
    assert statistics["version"] == "1" and statistics["inference_count"] == statistics["execution_count"] == 0
    for name in DURATIONS:
        assert statistics["inference_stats"][name] == {"count": 0, "ns": 0}, name
    for member in ("last_inference", "batch_stats", "memory_usage", "response_stats"):
        assert member in statistics


def test_requests_rows_and_executions_are_counted_apart(fresh):
    before_ms = time.time() * 1000
    for rows in (1, 3, 3, 8):
        assert send(fresh, rows).status == 200
    statistics = executed(fresh, "identity", 4)
    assert statistics["inference_count"] == 15 and statistics["execution_count"] == 4
    assert abs(statistics["last_inference"] - before_ms) < 60000
    stats = statistics["inference_stats"]
    for name in ("success", "queue", "compute_input", "compute_infer", "compute_output"):
        assert stats[name]["count"] == 4, name
    assert stats["fail"]["count"] == 0
    assert stats["success"]["ns"] >= sum(stats[n]["ns"]
                                         for n in ("queue", "compute_input", "compute_infer", "compute_output")) > 0
    batches = {entry["batch_size"]: entry for entry in statistics["batch_stats"]}
    assert {size: entry["compute_infer"]["count"] for size, entry in batches.items()} == {1: 1, 3: 2, 8: 1}
    assert sum(size * entry["compute_input"]["count"] for size, entry in batches.items()) == 15


def test_non_batching_models_count_one_row(fresh):
    fresh.infer("fixed", {"inputs": [fp32("x", [2, 3], [1.0] * 6)]})
    statistics = executed(fresh, "fixed", 1)
    assert statistics["inference_count"] == statistics["execution_count"] == 1


def test_engine_failures_count_as_failures_only(fresh):
    fresh.infer("table", {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "INT64", "data": [77]}]})
    statistics = failed(fresh, "table")
    assert statistics["inference_stats"]["fail"]["count"] == 1
    assert (statistics["inference_stats"]["success"]["count"] == statistics["inference_count"]
            == statistics["execution_count"] == 0)


def test_refused_requests_never_count_as_success(fresh):
    fresh.infer("identity", {"inputs": [fp32("x", [1, 3], [1.0] * 3)]})
    assert fresh.statistics("identity")["inference_stats"]["success"]["count"] == 0


def test_statistics_of_one_version_one_model_or_all(fresh):
    assert [s["version"] for s in fresh.get("/v2/models/versions/versions/2/stats").json()["model_stats"]] == ["2"]
    assert sorted(int(s["version"]) for s in fresh.get("/v2/models/versions/stats").json()["model_stats"]) == [1, 2, 10]
    assert {s["name"]
            for s in fresh.get("/v2/models/stats").json()["model_stats"]} >= {"identity", "simple", "versions"}


SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
FAMILIES = {"nv_inference_request_success": "counter", "nv_inference_request_failure": "counter",
            "nv_inference_count": "counter",
            "nv_inference_exec_count": "counter", "nv_inference_request_duration_us": "counter",
            "nv_inference_queue_duration_us": "counter",
            "nv_inference_compute_input_duration_us": "counter", "nv_inference_compute_infer_duration_us": "counter",
            "nv_inference_compute_output_duration_us": "counter", "nv_inference_pending_request_count": "gauge",
            "nv_model_load_duration_secs": "gauge", "nv_model_load_failure": "counter",
            "ridge_model_given_up": "counter", "ridge_inference_request_rejected": "counter",
            "nv_cache_num_hits_per_model": "counter", "nv_cache_num_misses_per_model": "counter",
            "nv_cache_hit_duration_per_model": "counter", "nv_cache_miss_duration_per_model": "counter",
            "nv_cpu_utilization": "gauge", "nv_cpu_memory_total_bytes": "gauge", "nv_cpu_memory_used_bytes": "gauge"}


def parse(text):
    """{(family, labels): value}; checks HELP, TYPE and contiguity on the way."""
    values, finished, current, types = {}, set(), None, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ", 3)
            assert family not in types, f"second TYPE for {family}"
            types[family] = kind
        if not line or line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        family = name if name in types else re.sub(r"_(bucket|sum|count)$", "", name)
        assert family in types, f"{name} has no TYPE"
        if family != current:
            assert family not in finished, f"{family} is not contiguous"
            finished.add(family)
            current = family
        values[(name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels or "")))] = float(value)
    return values, types


def of(values, name, model="identity", **labels):
    wanted = {("model", model), ("version", "1"), *labels.items()}
    return sum(value for (sample, present), value in values.items() if sample == name and wanted <= present)


def test_metric_families_have_triton_s_names_and_types(fresh):
    answer = fresh.get("/metrics", port=fresh.ports["metrics"])
    assert answer.headers["content-type"].startswith("text/plain")
    values, types = parse(answer.body.decode())
    for family, kind in FAMILIES.items():
        assert types.get(family) == kind, family
    assert not any(name.endswith("_total") for name, _ in values if name.startswith("nv_inference"))


def test_series_exist_at_zero_from_the_load_on(fresh):
    values, _ = parse(fresh.metrics())
    for family in FAMILIES:
        if family.startswith("nv_inference"):
            names = {frozenset(labels) for name, labels in values if name == family}
            assert any({("model", "identity"), ("version", "1")} <= labels for labels in names), family
    reasons = {dict(labels)["reason"] for name, labels in values if name == "nv_inference_request_failure"}
    assert reasons == {"REJECTED", "CANCELED", "BACKEND", "OTHER"}


def test_metrics_equal_the_statistics(fresh):
    for rows in (1, 2, 5):
        send(fresh, rows)
    statistics = executed(fresh, "identity", 3)
    values, _ = parse(fresh.metrics())
    assert of(values, "nv_inference_request_success") == statistics["inference_stats"]["success"]["count"] == 3
    assert of(values, "nv_inference_count") == statistics["inference_count"] == 8
    assert of(values, "nv_inference_exec_count") == statistics["execution_count"] == 3
    for metric, duration in {"request": "success", "queue": "queue", "compute_input": "compute_input",
                             "compute_infer": "compute_infer", "compute_output": "compute_output"}.items():
        in_metrics = of(values, f"nv_inference_{metric}_duration_us")
        assert abs(in_metrics - statistics["inference_stats"][duration]["ns"] / 1000) <= 1, metric


def test_backend_failures_carry_their_reason(fresh):
    fresh.infer("table", {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "INT64", "data": [77]}]})
    failed(fresh, "table")
    values, _ = parse(fresh.metrics())
    assert of(values, "nv_inference_request_failure", "table", reason="BACKEND") == 1


def test_values_have_no_exponent(fresh):
    for line in fresh.metrics().splitlines():
        if not line.startswith("#") and "_bucket" not in line:
            assert not re.search(r"\de[+-]?\d", line.rsplit(" ", 1)[1]), line


def test_a_latency_histogram_counts_every_request(fresh):
    for _ in range(5):
        send(fresh, 1)
    executed(fresh, "identity", 5)
    values, types = parse(fresh.metrics())
    histograms = [family for family, kind in types.items() if kind == "histogram"]
    assert histograms
    family = histograms[0]
    assert of(values, family + "_count") == 5
    buckets = sorted((float(dict(labels)["le"].replace("+Inf", "inf")), value) for (name, labels),
                     value in values.items()
                     if name == family + "_bucket" and ("model", "identity") in labels)
    assert [v for _, v in buckets] == sorted(v for _, v in buckets) and buckets[-1] == (float("inf"), 5)


def test_machine_gauges_are_plausible(fresh):
    values, _ = parse(fresh.metrics())
    assert 0 <= values[("nv_cpu_utilization", frozenset())] <= 1
    assert 0 < values[("nv_cpu_memory_used_bytes", frozenset())] < values[("nv_cpu_memory_total_bytes", frozenset())]


def test_metrics_are_also_on_the_http_port(fresh):
    assert fresh.get("/metrics").status == 200
