"""ctest: timeout 400

`ridge lab --html` in a real browser: figures as in the JSON, charts drawn, and no name that becomes markup. What every page must do is
tested in test_pages.py.
"""

import json
import os
import subprocess

import pytest

import browser

RIDGE = os.environ["RIDGE"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(page, ledger): a page and the object that it was drawn from: a sweep, a pair, a share, and a claim for other devices."""
    folder = tmp_path_factory.mktemp("page")
    command = [RIDGE, "lab", "L04", "L09", "L16", "L12", "--seconds", "270", "--html", "lab.html", "--json"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=330)
    assert "wrote lab.html" in done.stderr
    return folder / "lab.html", json.loads(done.stdout)


def test_figures_are_those_of_the_ledger(written):
    browser.check_figures(*written, {
        "verdicts.confirmed", "ledger.0.effect.value", "ledger.0.effect.low", "ledger.0.variant_seconds", "cases.0.variants.0.seconds",
        "cases.0.variants.1.bytes_per_s"})


def test_every_comparison_has_its_interval_beside_its_claim(written):
    path, ledger = written
    tested = [row for row in ledger["ledger"] if "effect" in row]
    assert {row["claim"] for row in tested} == {"L04", "L09", "L16"}
    with browser.page(1280) as (page, _):
        browser.show(page, path)
        # A set of dots with a name and one of intervals per verdict, so that every colour is in the legend.
        *measured, (_, claimed) = page.evaluate("Chart.getChart('claim-chart').data.datasets.map(set => [set.label, set.data])")
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
    with browser.page(1280) as (page, _):
        browser.show(page, path)
        points = page.evaluate(f"Chart.getChart('case-{swept}').data.datasets[0].data.map(point => [point.x, point.y])")
    assert points == [[way["at"], way["bytes_per_s"]] for way in ledger["cases"][swept]["variants"]]
    assert [x for x, _ in points] == [1, 2, 8, 32]


def test_a_name_stays_text(written, tmp_path):
    path, ledger = written
    ledger = json.loads(json.dumps(ledger))
    ledger["cases"][0]["variants"][0]["name"] = browser.HOSTILE
    (tmp_path / "page.html").write_text(browser.with_data(path, ledger))
    browser.check_name_stays_text(tmp_path / "page.html", f"ridge lab · {ledger['conditions']['name']}", "#cases td.name")


def test_two_rows_of_one_name_are_told_apart(written, tmp_path):
    path, ledger = written
    ledger = json.loads(json.dumps(ledger))
    first = next(row for row in ledger["ledger"] if "effect" in row)
    ledger["ledger"].append({**first, "work": "another work"})
    (tmp_path / "page.html").write_text(browser.with_data(path, ledger))
    with browser.page(1280) as (page, _):
        browser.show(page, tmp_path / "page.html")
        labels = page.evaluate("Chart.getChart('claim-chart').data.labels")
    assert len(set(labels)) == len(labels)
