"""ctest: timeout 200

The page of `ridge lab --html` in a real browser: figures as in the JSON, charts drawn, and no name that becomes markup.
Its ledger is written down here, so that no experiment has to run; what every page must do is tested in test_pages.py,
on a page that the lab wrote.
"""

import json
import os
import subprocess

import pytest

import browser
from schemas import errors_of

RIDGE = os.environ["RIDGE"]


def row(claim, experiment, variant, baseline, ratio, claimed, verdict, unit="bytes", share=None):
    """A measured comparison:

    `ratio` is (value, low, high), and `share` that of a peak, where the claim speaks of one.
    """
    seconds, other = 2e-3 / ratio[0], {"bytes": "flops", "flops": "bytes"}[unit]
    rates = {f"{who}_{name}_per_s": 1e7 / of if name == unit else None
             for who, of in (("variant", seconds), ("baseline", 2e-3)) for name in (unit, other)}
    return {"claim": claim, "statement": f"what {claim} says", "source": "B 3.2", "verdict": verdict,
            "explanation": "Because of its lines.",
            "experiment": experiment, "work": f"work of {experiment}", "variant": variant, "baseline": baseline,
            "claimed": {"kind": "share" if share else "gain", "low": claimed[0], "high": claimed[1],
                        "text": "as claimed"},
            "ratio": dict(zip(("value", "low", "high"), ratio, strict=True), confidence=0.95),
            "effect": dict(zip(("value", "low", "high"), share or ratio, strict=True)), "variant_seconds": seconds,
            "baseline_seconds": 2e-3, **rates, "origin": "measured", "rounds": 12, "converged": True}


def case(experiment, variants, parameter="", unit="bytes"):
    """Every variant: its name, the value of the parameter or None, the time of a run [s]."""
    rates = [{"bytes_per_s": 1e7 / seconds, "flops_per_s": None}
             if unit == "bytes" else {"bytes_per_s": None, "flops_per_s": 1e7 / seconds}
             for _, _, seconds in variants]
    return {"experiment": experiment, "work": f"work of {experiment}", "parameter": parameter, "origin": "measured",
            "variants": [{"name": name, "at": at, "seconds": seconds, **rate} for (name, at, seconds),
                         rate in zip(variants, rates, strict=True)]}


# A sweep, a pair, a share, and a claim for other devices.
LEDGER = {
    "about": {"schema": 1, "verb": "lab", "ridge": "0.1.0", "date": "2026-11-26T12:28:10Z",
              "command": "ridge lab L04 L09 L16 L12 --json",
              "machine": {"name": "a CPU", "cpus": 2, "id": "a-cpu-2c-f27579a805505cf5"}},
    "device": "a CPU, one thread", "note": "",
    "conditions": {"device": "cpu", "name": "a CPU", "threads": 1, "isa": ["sse2", "avx2"]},
    "interrupted": False,
    "disturbance": {"seconds": 0, "cpus": 2, "share_of_cpu_got": None, "waited_s": 0, "throttled_s": 0,
                    "steal_share": 0, "other_cpus": 0, "others": [], "disturbed": False, "sentence": ""},
    "verdicts": {"confirmed": 1, "larger": 3, "contradicted": 1, "not testable here": 1},
    "ledger": [
        row("L04", "coalescing", "stride 1", "stride 2", (1.4, 1.39, 1.41), (1.1, 1.3), "larger"),
        row("L04", "coalescing", "stride 1", "stride 8", (5.1, 4.9, 5.3), (1.1, 1.3), "larger"),
        row("L04", "coalescing", "stride 1", "stride 32", (9.8, 9.1, 10.6), (1.1, 1.3), "larger"),
        row("L09", "divergence", "sorted", "unsorted", (1.2, 1.18, 1.22), (1.1, 1.3), "confirmed"),
        row("L16", "matmul", "tiled", "plain", (7.5, 7.4, 7.6), (0.6, None), "contradicted", "flops",
            share=(0.31, 0.3, 0.32)),
        {"claim": "L12", "statement": "fusing pays", "source": "E 4.2", "verdict": "not testable here",
         "explanation": "needs cuda; this device is cpu"}],
    "cases": [
        case("coalescing", [(f"stride {stride}", stride, 1e-3 * stride) for stride in (1, 2, 8, 32)], "stride"),
        case("divergence", [("sorted", None, 1.7e-3), ("unsorted", None, 2e-3)]),
        case("matmul", [("tiled", None, 2.7e-4), ("plain", None, 2e-3)], unit="flops")]}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(page, ledger): a page and the object that it was drawn from."""
    assert errors_of("lab", LEDGER) == []
    folder = tmp_path_factory.mktemp("page")
    (folder / "ledger.json").write_text(json.dumps(LEDGER))
    subprocess.run([RIDGE, "show", "ledger.json", "--html", "lab.html"], cwd=folder, check=True, capture_output=True,
                   timeout=60)
    return folder / "lab.html", LEDGER


def test_figures_are_those_of_the_ledger(written):
    browser.check_figures(*written, {
        "verdicts.confirmed", "ledger.0.effect.value", "ledger.0.effect.low", "ledger.0.variant_seconds",
        "cases.0.variants.0.seconds", "cases.0.variants.1.bytes_per_s"})


def test_every_comparison_has_its_interval_beside_its_claim(written):
    path, ledger = written
    tested = [row for row in ledger["ledger"] if "effect" in row]
    with browser.shown(path, 1280) as (page, _):
        # A set of dots with a name and one of intervals per verdict, so that every colour is in the legend.
        *measured, (_,
                    claimed) = page.evaluate("Chart.getChart('claim-chart').data.datasets.map(set => [set.label, "
                                             "set.data])")
        assert {label for label, _ in measured} == {"", *(row["verdict"] for row in tested)}
        for index, row in enumerate(tested):
            dots = [data[index] for label, data in measured if label and data[index] is not None]
            intervals = [data[index] for label, data in measured if not label and data[index] is not None]
            assert dots == [row["effect"]["value"]] and intervals == [[row["effect"]["low"], row["effect"]["high"]]]
        for drawn, row in zip(claimed, tested, strict=True):
            assert drawn[0] == row["claimed"]["low"]
            assert drawn[1] == (row["claimed"]["high"] or drawn[1])
        assert page.locator("#untested td", has_text="L12").count() == 1


def test_a_sweep_is_a_line_over_its_parameter(written):
    path, ledger = written
    swept = next(i for i, one in enumerate(ledger["cases"]) if one["parameter"] == "stride")
    with browser.shown(path, 1280) as (page, _):
        points = page.evaluate(f"Chart.getChart('case-{swept}').data.datasets[0].data.map(point => [point.x, point.y])")
    assert points == [[way["at"], way["bytes_per_s"]] for way in ledger["cases"][swept]["variants"]]
    assert [x for x, _ in points] == [1, 2, 8, 32]


def test_a_name_stays_text(written, tmp_path):
    path, ledger = written
    ledger = json.loads(json.dumps(ledger))
    ledger["cases"][0]["variants"][0]["name"] = browser.HOSTILE
    (tmp_path / "page.html").write_text(browser.with_data(path, ledger))
    browser.check_name_stays_text(tmp_path / "page.html", f"ridge lab · {ledger['conditions']['name']}",
                                  "#cases td.name")


def test_two_rows_of_one_name_are_told_apart(written, tmp_path):
    path, ledger = written
    ledger = json.loads(json.dumps(ledger))
    first = next(row for row in ledger["ledger"] if "effect" in row)
    ledger["ledger"].append({**first, "work": "another work"})
    (tmp_path / "page.html").write_text(browser.with_data(path, ledger))
    with browser.shown(tmp_path / "page.html", 1280) as (page, _):
        labels = page.evaluate("Chart.getChart('claim-chart').data.labels")
    assert len(set(labels)) == len(labels)
