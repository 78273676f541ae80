"""ctest: timeout 300

`ridge power sweep --html` in a real browser: opened from a file with the network cut, figures as in the JSON, charts
drawn, no wider than the window on a desktop and on a phone, and no name that becomes markup.
"""

import json
import os
import pathlib
import subprocess

import pytest

import browser

RIDGE = os.environ["RIDGE"]
SUPPORT = os.environ["RIDGE_TEST_SUPPORT"]
SCRIPTS = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "tests/support/nvml"

# The slower the lower the limit.
WORK = """case $(sed -n "s/^0 power_limit_mw //p" "$RIDGE_FAKE_NVML_STATE") in
7*) sleep 0.02 ;;
6*) sleep 0.022 ;;
5*) sleep 0.04 ;;
*) sleep 0.1 ;;
esac
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(page, sweep): a page and the object that it was drawn from, of a GPU that always draws 97 % of its limit."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "work.sh").write_text(WORK)
    environment = os.environ | {
        "RIDGE_NVML": f"{SUPPORT}/libnvidia-ml.so.1",
        "RIDGE_FAKE_NVML": str(SCRIPTS / "at-limit.txt"),
        "RIDGE_FAKE_NVML_STATE": str(folder / "state"),
    }
    command = [RIDGE, "power", "sweep", "--from", "400", "--steps", "4", "--seconds", "4", "--html", "sweep.html",
               "--json", "--", "sh", "work.sh"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "wrote sweep.html" in done.stderr, done.stderr
    return folder / "sweep.html", json.loads(done.stdout)


@pytest.mark.parametrize("width", [1280, 390])
def test_no_error_no_request_and_no_wider_than_the_window(written, width):
    browser.check_fits(written[0], width)


def test_figures_are_those_of_the_sweep(written):
    browser.check_figures(*written, {
        "best_per_watt_w", "within_5_percent_of_peak_w", "reference_limit_w", "points.0.rate_per_s",
        "points.3.relative_high",
        "points.1.power_w", "points.2.per_joule", "points.0.temperature_c", "points.3.clock_mhz", "claims.1.relative"})


def test_the_curves_are_drawn_over_the_limits_with_those_that_pay_larger(written):
    path, sweep = written
    rising = sorted(sweep["points"], key=lambda point: point["limit_w"])
    spots = {sweep["best_per_watt_w"], sweep["within_5_percent_of_peak_w"]}
    with browser.shown(path, 1280) as (page, _):
        drawn = {name: page.evaluate(f"Chart.getChart('{name}-chart').data.datasets"
                                     ".map(set => set.data.map(point => [point.x, point.y]))")
                 for name in ("performance", "energy", "draw", "heat")}
        sizes = page.evaluate("Chart.getChart('performance-chart').data.datasets[0].pointRadius")
    assert drawn["performance"][0] == [[point["limit_w"], point["relative"]] for point in rising]
    assert drawn["performance"][1] == [[point["limit_w"], [point["relative_low"], point["relative_high"]]]
                                       for point in rising]
    assert drawn["performance"][2] == [[claim["share_of_default_limit"] * 700, claim["relative"]]
                                       for claim in sweep["claims"]]
    assert drawn["energy"] == [[[point["limit_w"], point["per_joule"]] for point in rising]]
    assert drawn["draw"][0] == [[point["limit_w"], point["power_w"]] for point in rising]
    assert drawn["heat"] == [[[point["limit_w"], point[name]] for point in rising]
                             for name in ("temperature_c", "clock_mhz")]
    assert {point["limit_w"] for point, size in zip(rising, sizes, strict=True) if size > 5} == spots


def test_what_a_device_does_not_tell_is_left_out(written, tmp_path):
    path, sweep = written
    sweep = json.loads(json.dumps(sweep))
    for point in sweep["points"]:
        point.update(power_w=0, power_spread_percent=0, per_joule=0, temperature_c=None, clock_mhz=None)
    for claim in sweep["claims"]:
        claim.update(verdict="not testable here", relative=None, relative_low=None, relative_high=None,
                     reason="no limit slowed the load")
    sweep.update(best_per_watt_w=None, within_5_percent_of_peak_w=None)
    (tmp_path / "page.html").write_text(browser.with_data(path, sweep))
    with browser.shown(tmp_path / "page.html", 1280) as (page, complaints):
        assert page.locator("canvas").count() == 1
        assert page.locator("#claims td", has_text="no limit slowed the load").count() == len(sweep["claims"])
        assert page.locator("[data-value='0']").count() == 0
        assert complaints == []


def test_a_name_stays_text(written, tmp_path):
    path, sweep = written
    (tmp_path / "page.html").write_text(browser.with_data(path, sweep | {"workload": browser.HOSTILE}))
    browser.check_name_stays_text(tmp_path / "page.html", f"ridge power sweep · {sweep['device']}", "p.name")


def test_whole_in_chinese_and_on_paper(written):
    browser.check_chinese(written[0])
    browser.check_paper(written[0])
