"""The Python module against this build's program, on scripted models: no time is spent on engines."""

import os
import pathlib
import subprocess
import sys

import pytest

MODULE = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "python"
sys.path.insert(0, str(MODULE))
import ridge  # noqa: E402


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """The machine's limits are measured once for all tests of this build."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(pathlib.Path(os.environ["RIDGE"]).parent / "test-cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "slow.fake.json"
    path.write_text('{"inputs": [{"name": "x", "type": "FP32", "shape": [4, 16]}], "latency_ms": 5}')
    return path


def test_bench_gives_typed_figures_and_keeps_the_rest(script):
    measured = ridge.bench(script, engine="fake", seconds=0.5, ci=50)
    assert measured.ok and measured.batch == 4
    assert measured.latency_ms.p50 >= 5
    assert measured.throughput_per_s == measured.raw["throughput_per_s"]
    assert measured.raw["stages_ms"]["load"] >= 0
    assert "raw" not in repr(measured)
    assert "rows/s" in measured._repr_html_()


def test_options_are_those_of_the_command_line(script):
    words = ridge._arguments({"engine_option": {"a": 1, "b": "x"}, "shape": ["x=1", "y=2"], "layers": True,
                              "fresh": False, "batch": None, "output": pathlib.Path("repo")})
    assert words == ["--engine-option", "a=1", "--engine-option", "b=x", "--shape", "x=1", "--shape", "y=2", "--layers",
                     "--output", "repo"]
    with pytest.raises(ridge.Error) as raised:
        ridge.bench(script, engine="fake", engine_option={"fail_load": "the weights are gone"})
    assert raised.value.status == 3 and "the weights are gone" in raised.value.message


def test_wrong_usage_is_an_error_with_its_status(script):
    with pytest.raises(ridge.Error) as raised:
        ridge.bench(script, no_such_option=1)
    assert raised.value.status == 2 and "--no-such-option" in str(raised.value)


def test_plan_of_a_reference_model_on_a_device_of_the_catalogue(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plan = ridge.plan("mlp", device="A100 SXM4 80GB", threads=1)
    assert plan.ok and plan.bound_ms > 0 and plan.limiter in ("compute", "memory")
    assert plan.flops == plan.raw["flops"]
    assert (tmp_path / "cache/ridge/models").is_dir()
    assert "bound" in plan._repr_html_()
    missed = ridge.size("mlp", device="A100 SXM4 80GB", rps=1e12, p99_ms=1e-6, service_ms=1)
    assert not missed.ok and missed.raw["load"]["met"] is False


def test_a_plan_of_what_has_no_rule_is_not_known(tmp_path):
    sys.path.insert(0, str(pathlib.Path(os.environ["RIDGE_SOURCE"]) / "tests" / "support"))
    import models
    models.trees(tmp_path / "trees.onnx")
    shown = dict(ridge.plan(tmp_path / "trees.onnx", threads=1)._rows())
    assert shown["FLOPs (derived)"] == shown["bound (derived)"] == "not known"


def test_tune_gives_both_sides_and_the_speedup(monkeypatch):
    monkeypatch.setenv("RIDGE_FAKE_CLOCK", "1")
    tuned = ridge.tune("identity", engine="fake", engine_option={"latency_ms": 6, "latency_ms_per_row": 0.2}, threads=1,
                       max_batch=4, seconds=5, output="repo")
    assert tuned.ok and tuned.speedup > 1
    assert tuned.best.throughput_per_s > tuned.baseline.throughput_per_s
    assert pathlib.Path(tuned.repository).is_dir()
    assert "conclusion" in tuned._repr_html_()


def test_the_module_runs_as_the_program():
    environment = os.environ | {"PYTHONPATH": str(MODULE)}
    said = subprocess.run([sys.executable, "-m", "ridge", "nosuchverb"], capture_output=True, text=True,
                          env=environment)
    assert said.returncode == 2 and "nosuchverb" in said.stderr
    environment["RIDGE"] = "/nonexistent/ridge"
    said = subprocess.run([sys.executable, "-m", "ridge"], capture_output=True, text=True, env=environment)
    assert said.returncode == 3 and "/nonexistent/ridge" in said.stderr
