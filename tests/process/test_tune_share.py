"""ridge tune --share as a process: what it writes is served, goals decide the exit status, an interrupted or killed run
keeps what it had. ctest: timeout 500

On the scripted engine (known answer, little CPU time) and once on the real one.
"""

import json
import os
import signal
import sqlite3
import subprocess

import known_limits
import models
import pytest
from server import Server, fp32, wait_until

RIDGE = os.environ["RIDGE"]
# A run takes 6 ms, and 0.2 ms more per row; all models share two CPUs.
FAKE = ["--engine", "fake", "--engine-option", "latency_ms=6", "--engine-option", "latency_ms_per_row=0.2",
        "--engine-option", "processors=2", "--engine-option", "interference=0.3", "--threads", "2", "--max-batch", "2"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Shared by all tests; every test has a store of its own."""
    return known_limits.fill(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def pair(tmp_path, cache):
    models.scaled(tmp_path / "double.onnx", 2.0, dims=("batch", 16))
    models.scaled(tmp_path / "triple.onnx", 3.0, dims=("batch", 16))
    arguments = [RIDGE, "tune", tmp_path / "double.onnx", tmp_path / "triple.onnx", "--share"]

    def start(*more, store="store", fake_clock=True):
        clock = {"RIDGE_FAKE_CLOCK": "1"} if fake_clock and "fake" in more else {}  # no time is taken, and none is lost
        return subprocess.Popen([str(a) for a in [*arguments, "--store", tmp_path / store, *more]],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "XDG_CACHE_HOME": str(cache), **clock})
    return start


def answer(process, status=0, timeout=180):
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == status, err
    return json.loads(out)


def together(store):
    """Trials of both models at once that the store holds."""
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM trial WHERE candidate LIKE 'double:%'").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def wait_for_a_split(store, process):
    wait_until(lambda: together(store) or process.poll() is not None, 120)
    assert process.poll() is None, process.communicate()[1]


def test_both_models_of_the_written_repository_are_served(pair, tmp_path):
    result = answer(pair("--engine", "onnxruntime", "--precision", "fp32", "--seconds", "40", "--max-batch", "4", "-o",
                         tmp_path / "repo", "--json"))
    assert [model["name"] for model in result["models"]] == ["double", "triple"]
    assert result["choice"] in ("tuned", "baseline")
    assert result["memory_bytes"]["measured"] > 1e6
    for model in result["models"]:
        written = json.loads((tmp_path / "repo" / model["name"] / "tuning.json").read_text())
        assert written["best"]["throughput_per_s"] == pytest.approx(model["best"]["throughput_per_s"])
        assert written["shared"]["with"] == [other["name"] for other in result["models"] if other is not model]
    with Server(tmp_path / "repo") as server:
        for name, factor in (("double", 2.0), ("triple", 3.0)):
            request = json.dumps({"inputs": [fp32("x", [1, 16], [1.0] * 16)]})
            reply = server.post(f"/v2/models/{name}/infer", request)
            assert reply.status == 200, reply
            assert reply.json()["outputs"][0]["data"] == [factor] * 16


def test_figures_are_of_models_that_ran_together(pair):
    result = answer(pair(*FAKE[:-1], "4", "--seconds", "36", "--json"))
    assert result["processors"] == 2
    for model in result["models"]:
        alone, beside = model["alone"], model["best"]
        # Alone two instances of four rows; beside the other model one of them.
        assert alone["processors"] <= 2 and alone["throughput_per_s"] > beside["throughput_per_s"], model
        assert model["share"] == pytest.approx(0.5, abs=0.01), model
        assert beside["throughput_per_s"] == pytest.approx(model["share"] * alone["throughput_per_s"])
    measured = {split["in_turns"] for split in result["splits"]}
    assert False in measured
    assert result["gain"]["ratio"] == pytest.approx(4 * 6.2 / 6.8)  # rows per run × time of a run, by the script
    assert result["value"]["best"]["value"] > result["value"]["untuned"]["value"]


def test_show_and_history_know_it(pair, cache, tmp_path):
    kept = tmp_path / "together.json"
    kept.write_text(json.dumps(answer(pair(*FAKE, "--json"))))

    def of(*command):
        done = subprocess.run([RIDGE, *map(str, command)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "XDG_CACHE_HOME": str(cache)})
        assert done.returncode == 0, done.stderr
        return done.stdout
    shown = of("show", kept)
    assert "measured together" in shown
    assert json.loads(kept.read_text())["conclusion"] in " ".join(shown.split())
    assert "beside triple" in of("history", tmp_path / "double.onnx"), "kept by tune"
    assert "beside double" in of("history", "triple.onnx", kept)


def test_goals_decide_and_what_is_missed_is_said(pair, tmp_path):
    met = answer(pair(*FAKE, "--seconds", "6", "--json", "--rps", "double=20", "--rps", "triple=10"))
    assert all(model["goal"]["met"] for model in met["models"]), met["conclusion"]
    assert met["value"]["what"] == "times the loads"
    missed = answer(pair(*FAKE, "--seconds", "6", "--json", "--rps", "double=20", "--rps", "triple=3000", "-o",
                         tmp_path / "repo"), status=1)
    assert missed["choice"] == "none"
    assert "triple" in missed["conclusion"] and "cannot be met" in missed["conclusion"]
    assert not (tmp_path / "repo").exists()


def test_a_budget_too_small_for_any_split_is_said(pair):
    done = pair(*FAKE, "--seconds", "6", "--memory", "1MiB")
    out, err = done.communicate(timeout=120)
    assert done.returncode == 1, err
    assert "skipped: does not fit into the memory budget of 1.00 MiB" in out, out
    assert "more than the memory budget" in out.split("\n\nnext:\n")[0].splitlines()[-1], out


def test_killed_or_interrupted_it_keeps_what_it_had(pair, tmp_path):
    killed = pair(*FAKE, "--seconds", "90", fake_clock=False)  # of which it needs a few, on a busy machine more
    wait_for_a_split(tmp_path / "store", killed)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    before = together(tmp_path / "store")
    resumed = answer(pair(*FAKE, "--seconds", "12", "--json"))
    assert resumed["reused"] >= before
    interrupted = pair(*FAKE, "--seconds", "90", "--json", "-o", tmp_path / "repo", store="other", fake_clock=False)
    wait_for_a_split(tmp_path / "other", interrupted)
    interrupted.send_signal(signal.SIGINT)
    result = answer(interrupted)
    assert result["interrupted"] is True and len(result["splits"]) >= 1
    assert (tmp_path / "repo" / "double" / "tuning.json").exists()
    assert (tmp_path / "repo" / "triple" / "config.pbtxt").exists()
