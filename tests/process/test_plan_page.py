"""ctest: timeout 300

`ridge size --html` of a model in a real browser: figures as in the JSON, charts drawn, and no name of a node that
becomes markup. What every page must do is tested in test_pages.py.
"""

import json
import os
import subprocess

import pytest

import browser
import models

RIDGE = os.environ["RIDGE"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(page, plan): a page and the object that it was drawn from."""
    folder = tmp_path_factory.mktemp("page")
    models.products(folder / "model.onnx", browser.HOSTILE)
    command = [RIDGE, "size", "model.onnx", "--device", "RTX 4090", "--batch", "1..64", "--rps", "1000", "--cost",
               "--price-usd", "2000", "--memory", "--training", "adamw", "--html", "plan.html", "--json"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=120)
    return folder / "plan.html", json.loads(done.stdout)


def test_figures_are_those_of_the_plan(written):
    browser.check_figures(*written, {
        "bound_ms", "flops", "params", "memory_bytes.inference", "curve.6.bound_ms", "cost.joules_per_row",
        "layers.0.flops",
        "load.utilisation", "memory.peak", "training.memory_bytes.optimiser", "training.curve.0.memory_bytes.total"})


def test_shown_text_is_the_value_in_its_unit(written):
    path, plan = written
    unit = {"FLOP": 1, "kFLOP": 1e3, "MFLOP": 1e6, "GFLOP": 1e9, "ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3, "B": 1,
            "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    with browser.shown(path, 1280) as (page, _):
        for name in ("flops", "bound_ms", "memory_bytes.inference", "device.memory_bytes", "layers.2.bytes"):
            text = page.locator(f'[data-member="{name}"]').first.text_content()
            if text == "< 1 ns":
                assert browser.member(plan, name) < 1e-6
                continue
            number, name_of_unit = text.split()
            assert float(number) * unit[name_of_unit] == pytest.approx(browser.member(plan, name), rel=0.01), name


def test_every_layer_with_a_place_is_a_dot(written):
    path, plan = written
    placed = [layer for layer in plan["layers"] if layer["flops"] > 0 and layer["bound_ms"] > 0]
    with browser.shown(path, 1280) as (page, _):
        drawn = page.evaluate("""() => Chart.getChart('roofline-chart').data.datasets
                                       .filter(set => set.type === 'scatter')
                                       .flatMap(set => set.data.map(dot => [dot.x, dot.y, dot.layer.name]))""")
        assert len(placed) >= 2
        assert sorted((layer["intensity"], layer["name"]) for layer in placed) == sorted(
            (x, name) for x, _, name in drawn)
        live = page.evaluate("Chart.getChart('memory-chart').data.datasets[0].data.map(point => point.y)")
        assert max(live) == plan["peak_activation_bytes"]
        rates, bounds = page.evaluate("Chart.getChart('curve-chart').data.datasets.slice(0, 2)"
                                      ".map(set => set.data.length)")
        assert bounds == len(plan["curve"])
        # No rate where a call of an engine takes longer
        assert rates == 0 and max(point["bound_ms"] for point in plan["curve"]) < 1e-3


def test_a_dot_says_what_it_is_when_pointed_at(written):
    with browser.shown(written[0], 1280) as (page, _):
        at = page.evaluate("""() => { const chart = Chart.getChart('roofline-chart');
            const second = dot => dot.layer && dot.layer.name === 'second';
            const index = chart.data.datasets.findIndex(set => set.data.some(second));
            const element = chart.getDatasetMeta(index).data[chart.data.datasets[index].data.findIndex(second)];
            const box = chart.canvas.getBoundingClientRect();
            return [box.left + element.x, box.top + element.y] }""")
        page.mouse.move(*at)
        page.wait_for_function("Chart.getChart('roofline-chart').tooltip.opacity > 0")
        lines = page.evaluate("Chart.getChart('roofline-chart').tooltip.body.flatMap(body => body.lines)")
        assert "second" in lines and "MatMul" in lines


def test_a_name_stays_text(written):
    browser.check_name_stays_text(written[0], "ridge size · model.onnx", "td.name")


def test_a_measured_run_stands_beside_the_bound(written, tmp_path):
    path, plan = written
    latency = {name: 0.5 for name in ("mean", "p50", "p90", "p95", "p99", "min", "max")}
    (tmp_path / "measured.html").write_text(
        browser.with_data(path, {**plan, "measured": {"engine": "engine", "runs": 7, "latency_ms": latency}}))
    with browser.page(390) as (page, complaints):
        browser.show(page, tmp_path / "measured.html")
        assert page.locator('.figures [data-member="measured.latency_ms.p50"]').text_content() == "500 µs"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert complaints == []


def test_a_range_of_the_estimate_never_goes_below_the_bound(written, tmp_path):
    path, plan = written
    low = plan["bound_ms"] / 4
    estimated = {**plan, "estimate_ms": 2 * plan["bound_ms"], "estimate_error_percent": 87, "curve": None,
                 "estimate": {"basis": "carried over", "range_ms": {"slow": 4 * plan["bound_ms"], "fast": low},
                              "notes": []}}
    (tmp_path / "range.html").write_text(browser.with_data(path, estimated))
    with browser.shown(tmp_path / "range.html", 1280) as (page, _):
        bound = page.locator('.figures [data-member="bound_ms"]').text_content()
        assert page.locator('.figures [data-member="estimate_ms"] + span').text_content().startswith(bound + " – ")


def test_ticks_of_memory_are_round(written):
    with browser.shown(written[0], 1280) as (page, _):
        ticks = page.evaluate("Chart.getChart('memory-chart').scales.y.ticks.map(tick => tick.value)")
    assert len(ticks) >= 3
    step = ticks[1] - ticks[0]
    assert step.bit_count() == 1 and ticks == [i * step for i in range(len(ticks))]
