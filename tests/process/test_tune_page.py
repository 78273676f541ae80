"""ctest: timeout 600

`ridge tune --html` in a real browser: figures as in the JSON, charts drawn, and no name that becomes markup. The page
comes from a run on the scripted engine. What every page must do is tested in test_pages.py.
"""

import json
import os
import subprocess

import pytest

import browser
import known_limits
import models

RIDGE = os.environ["RIDGE"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(page, result): a page and the object that it was drawn from."""
    folder = tmp_path_factory.mktemp("page")
    models.identity(folder / "model.onnx")
    command = [RIDGE, "tune", "model.onnx", "--engine", "fake", "--engine-option", "latency_ms=3", "--engine-option",
               "latency_ms_per_row=0.2", "--max-batch", "4", "--seconds", "4", "--html", "tune.html", "--json"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=180,
                          env={**os.environ, "XDG_CACHE_HOME": str(known_limits.fill(folder))})
    return folder / "tune.html", json.loads(done.stdout)


@pytest.fixture(scope="module")
def rich(written, tmp_path_factory):
    """The same page with what the scripted engine does not have: layers, a guard's verdicts, energy, a goal."""
    result = json.loads(json.dumps(written[1]))
    layer = {"op": "Conv", "flops": 1e6, "bytes": 1e4, "flops_per_s": 1e9, "bytes_per_s": 1e7, "bound_ms": 0.2,
             "percent_of_limit": 20, "limiter": "compute", "has_rule": True}
    result["baseline"]["layers"] = [{**layer, "name": browser.HOSTILE, "ms": 1.0},
                                    {**layer, "name": "second", "ms": 0.5}]
    result["best"]["layers"] = [{**layer, "name": "second", "ms": 0.3}]
    output = {"name": "y", "max_abs": 0.01, "relative_l2": 2e-3, "cosine": 0.99999, "top1_agreement": 1.0, "rows": 8,
              "classifier": True}
    lost = {**output, "holds": False, "failure": "cosine 0.99, at least 0.999"}
    layer_cost = {"node": browser.HOSTILE, "relative_l2": 0.01, "cosine": 0.99, "max_abs": 1, "together": 2,
                  "kept": True}
    result["accuracy"] = {
        "samples": "the deviation was measured on synthetic samples",
        "implementations": [{"engine": "fake", "variant": "fp32", "accuracy": {"holds": True, "outputs": []}},
                            {"engine": "fake", "variant": "bf16",
                             "accuracy": {"holds": True, "outputs": [{**output, "holds": True}]}}],
        "variants": [{"name": "int8", "holds": False, "verdict": {"holds": False, "outputs": [lost]},
                      "sensitivity": [layer_cost]}],
        "refused": [{"engine": "fake", "variant": "int8", "reason": browser.HOSTILE}]}
    for point in result["pareto"] + result["points"]:
        point["joules_per_row"] = 0.5
    result["goal"]["p99_ms"] = 20.0
    result["choice"] = "tuned"
    result["candidate"] = {key: result["points"][0][key] for key in result["candidate"] if key in result["points"][0]}
    path = tmp_path_factory.mktemp("rich") / "tune.html"
    path.write_text(browser.with_data(written[0], result))
    return path, result


@pytest.mark.parametrize("repository", [[], ["-o", "models"]])
def test_what_to_do_next_is_what_the_terminal_says(tmp_path, repository):
    models.identity(tmp_path / "my model.onnx")
    command = [RIDGE, "tune", "my model.onnx", "--engine", "fake", "--engine-option", "latency_ms=3", "--max-batch",
               "2", "--seconds", "2", "--html", "tune.html", *repository]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=180,
                          env={**os.environ, "XDG_CACHE_HOME": str(known_limits.fill(tmp_path)),
                               "RIDGE_FAKE_CLOCK": "1"})
    lines = [line.strip() for line in done.stdout.rpartition("next:\n")[2].splitlines()]
    assert lines[0].startswith("ridge serve models" if repository else "ridge tune 'my model.onnx' --seconds 2")
    with browser.shown(tmp_path / "tune.html", 1280) as (page, complaints):
        assert page.locator("#next code").all_text_contents() == lines
        assert complaints == []


def test_intervals_stand_beside_figures_and_wide_ones_are_called_uncertain(rich, tmp_path):
    path, result = rich
    result = json.loads(json.dumps(result))
    # A busy machine may have tried one batch only
    other = {**result["points"][0], "batch": 2 * result["candidate"]["batch"]}
    wide = {**other, "throughput_per_s": 20700.0, "throughput_ci95_per_s": {"low": 32.9, "high": 13.0e6},
            "gain": {"ratio": 2.0, "low": 0.1, "high": 40.0}}
    narrow = {**result["points"][0], "throughput_ci95_per_s": {"low": 1.0, "high": 2.0},
              "gain": {"ratio": 2.0, "low": 1.9, "high": 2.1}}
    result["pareto"], result["points"] = [narrow, wide], [narrow, wide]
    result["best"]["throughput_ci95_per_s"] = {"low": 111.0, "high": 222.0}
    result["baseline"]["throughput_ci95_per_s"] = {"low": 33.0, "high": 44.0}
    result["best"]["percent_of_limit"] = 0.00386
    (tmp_path / "page.html").write_text(browser.with_data(path, result))
    with browser.shown(tmp_path / "page.html", 1280) as (page, complaints):
        front = [row.locator("td").all_text_contents() for row in page.locator("#front tbody tr").all()]
        assert "111 rows/s – 222 rows/s" in front[0] and "1.90 × – 2.10 ×" in front[0]
        assert front[1].count("uncertain") == 2
        compared = page.locator("#comparison").text_content()
        assert "111 rows/s – 222 rows/s" in compared and "33.0 rows/s – 44.0 rows/s" in compared
        assert "< 0.01 %" in compared and "0.00386" not in compared, "as in the terminal"
        whiskers = page.evaluate("""() => Chart.getChart('front-chart').data.datasets
                                          .filter(set => set.type === 'line' && set.label === '')
                                          .flatMap(set => set.data.map(p => p.y)).filter(y => !Number.isNaN(y))""")
        assert max(whiskers) <= 20700
        assert complaints == []


def test_figures_are_those_of_the_result(rich):
    path, result = rich
    browser.check_figures(path, result, {
        "gain.ratio", "best.throughput_per_s", "baseline.latency_ms.p99", "pareto.0.throughput_per_s",
        "pareto.0.joules_per_row",
        "curve.0.latency_ms.p50", "drift.relative_l2", "accuracy.implementations.1.accuracy.outputs.0.cosine",
        "accuracy.variants.0.verdict.outputs.0.relative_l2", "accuracy.variants.0.sensitivity.0.relative_l2"})
    with browser.shown(path, 1280) as (page, _):
        assert page.locator("#conclusion").text_content() == result["conclusion"]


def test_every_measured_candidate_is_a_dot_and_every_batch_a_point(rich):
    path, result = rich
    with browser.shown(path, 1280) as (page, _):
        dots = page.evaluate("""() => Chart.getChart('front-chart').data.datasets
                                      .filter(set => set.type === 'scatter' && set.pointRadius === 4)
                                      .flatMap(set => set.data.map(dot => [dot.x, dot.y]))""")
        assert sorted(map(tuple, dots)) == sorted((p["latency_ms"]["p99"], p["throughput_per_s"])
                                                  for p in result["points"])
        curve = page.evaluate("Chart.getChart('batch-chart').data.datasets[1].data.map(p => [p.x, p.y])")
        assert curve == [[p["batch"], p["latency_ms"]["p50"]] for p in result["curve"]]
        layers = page.evaluate("Chart.getChart('layer-chart').data.datasets.map(set => set.data)")
        assert layers == [[1.0, 0.5], [0, 0.3 / result["best"]["batch"]], [0.2, 0.2 / result["best"]["batch"]]]


def test_a_name_stays_text(rich):
    browser.check_name_stays_text(rich[0], "ridge tune · model.onnx", "#layers td.name")


def test_the_front_is_a_staircase_and_the_winner_is_marked(rich):
    path, result = rich
    points = sorted((p["latency_ms"]["p99"], p["throughput_per_s"]) for p in result["points"])
    with browser.shown(path, 1280) as (page, _):
        sets = page.evaluate("Chart.getChart('front-chart').data.datasets.map(set => [set.label, set.type, "
                             "set.data.map(p => [p.x, p.y])])")
    steps = next(data for label, kind, data in sets if kind == "line" and label)
    for before, after in zip(steps, steps[1:], strict=False):
        assert before[0] <= after[0] and before[1] <= after[1]
    for x, y in points:  # none lies above the steps
        assert y <= max(step[1] for step in steps if step[0] <= x)
    first = result["points"][0]
    assert [data for label, _,
            data in sets if label == "tuned"] == [[[first["latency_ms"]["p99"], first["throughput_per_s"]]]]


def test_layers_of_two_engines_are_two_lists(rich, tmp_path):
    path, result = rich
    result = json.loads(json.dumps(result))
    result["best"]["layers"] = [{**result["best"]["layers"][0], "name": "renamed"}]
    (tmp_path / "page.html").write_text(browser.with_data(path, result))
    with browser.shown(tmp_path / "page.html", 1280) as (page, complaints):
        assert [page.evaluate(f"Chart.getChart('{name}').data.labels.length")
                for name in ("layer-chart", "layer-chart-after")] == [2, 1]
        assert complaints == []


@pytest.mark.parametrize("samples", ["100 held-out samples (30 rows of /data/a.npy)",
                                     "12 of 100 held-out samples (4 pictures of /data)",
                                     "7 held-out samples (2 rows of recorded requests of /data)",
                                     "12 of 100 held-out samples (synthetic, seed 1): synthetic data says little about "
                                     "accuracy on your data; give --calibration"])
def test_what_the_deviation_was_measured_on_is_said_in_chinese(rich, tmp_path, samples):
    path, result = rich
    accuracy = {**result["accuracy"], "samples": f"the deviation was measured on {samples}"}
    (tmp_path / "page.html").write_text(browser.with_data(path, {**result, "accuracy": accuracy}))
    browser.check_chinese(tmp_path / "page.html", [browser.HOSTILE])


def test_rich_in_chinese_and_on_paper(rich):
    browser.check_fits(rich[0], 390)
    browser.check_chinese(rich[0], [browser.HOSTILE])
    browser.check_paper(rich[0])
