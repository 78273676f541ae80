"""ridge tune as a process: search, store, repository, kill and resume. ctest: timeout 600

Runs on the scripted engine (known answer, little CPU time) and once on the real one.
"""

import json
import os
import pathlib
import pty
import re
import signal
import sqlite3
import subprocess
import threading

import known_limits
import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from server import Server, fp32, wait_until

RIDGE = os.environ["RIDGE"]
# A run sleeps 6 ms, and 0.2 ms more per row: batches and instances pay.
FAKE = ["--engine", "fake", "--engine-option", "latency_ms=6", "--engine-option", "latency_ms_per_row=0.2",
        "--max-batch", "4"]


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "XDG_CACHE_HOME": str(known_limits.fill(tmp_path / "cache"))}


@pytest.fixture
def identity(tmp_path):
    models.identity(tmp_path / "identity.onnx")
    return tmp_path / "identity.onnx"


def tune(environment, *arguments, timeout=120):
    clock = {"RIDGE_FAKE_CLOCK": "1"} if "fake" in arguments else {}  # no time is taken, and none is lost
    return subprocess.run([RIDGE, "tune", *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          env={**environment, **clock})


def tuned(environment, *arguments, status=0):
    done = tune(environment, *arguments, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def kept(environment):
    file = os.path.join(environment["XDG_CACHE_HOME"], "ridge", "tune.sqlite")
    if not os.path.exists(file):
        return 0
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as store:
            return store.execute("SELECT count(*) FROM trial").fetchone()[0]
    except sqlite3.OperationalError:  # not created yet
        return 0


def drain(terminal):
    """Reads until the other end is closed, so that it never waits for room."""
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass


def start(environment, *arguments):
    return subprocess.Popen([RIDGE, "tune", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=environment)


def test_finds_what_the_script_favours_and_writes_a_repository(environment, identity, tmp_path):
    result = tuned(environment, identity, "-o", tmp_path / "repo", *FAKE, "--seconds", "10")
    assert result["choice"] == "tuned"
    assert result["speedup"] > 2
    assert result["best"]["batch"] == 4
    assert result["best"]["throughput_per_s"] > 2 * result["baseline"]["throughput_per_s"]
    assert result["drift"]["max_abs"] == 0
    assert result["space"]["measured"] + sum(s["count"]
                                             for s in result["space"]["skipped"]) >= result["space"]["candidates"]
    assert result["repository"] == str(tmp_path / "repo" / "identity" / "1")
    entry = tmp_path / "repo" / "identity"
    assert (entry / "1" / "model.onnx").read_bytes() == identity.read_bytes()
    config = (entry / "config.pbtxt").read_text()
    assert re.search(r"preferred_batch_size: 4\b", config), config
    assert "max_batch_size: 4" in config
    kept = json.loads((entry / "tuning.json").read_text())
    assert kept["speedup"] == pytest.approx(result["speedup"])
    assert kept["about"] == result["about"] and list(kept)[0] == "about"


def test_last_line_is_a_plain_sentence_on_standard_output(environment, identity):
    done = tune(environment, identity, *FAKE, "--seconds", "5")
    assert done.returncode == 0, done.stderr
    last = done.stdout.split("\n\nnext:\n")[0].splitlines()[-1]
    assert last.endswith(".") and "rows/s" in last and "batch" in last, last


def test_show_repeats_what_tune_said_of_the_repository_that_it_wrote(environment, identity, tmp_path):
    said = tune(environment, identity, *FAKE, "-o", tmp_path / "repo").stdout
    shown = subprocess.run([RIDGE, "show", str(tmp_path / "repo" / "identity")], capture_output=True, text=True,
                           timeout=60)
    assert shown.returncode == 0, shown.stderr
    origin, result = shown.stdout.split("\n\nnext:\n")[0].split("\n\n", 1)
    assert "ridge tune " in origin
    assert len(result) > 500 and result in re.sub("written: .*\n", "", said)


def test_killed_run_resumes_without_measuring_again_what_it_had(environment, identity):
    process = start(environment, identity, *FAKE, "--seconds", "60")
    wait_until(lambda: kept(environment) >= 4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = kept(environment)
    result = tuned(environment, identity, *FAKE, "--seconds", "60")
    assert result["reused"] >= before - 1  # the search may turn elsewhere once it sees other numbers
    assert result["choice"] == "tuned"


def test_repeated_run_measures_only_the_confirmation(environment, identity):
    first = tuned(environment, identity, *FAKE, "--seconds", "60")
    second = tuned(environment, identity, *FAKE, "--seconds", "60")
    assert second["reused"] == second["trials"] == first["trials"]
    assert second["candidate"] == first["candidate"]
    third = tuned(environment, identity, *FAKE, "--trials", "2", "--store",
                  os.path.join(environment["XDG_CACHE_HOME"], "other"))
    assert third["reused"] == 0


def test_changed_model_is_another_model(environment, identity):
    tuned(environment, identity, *FAKE, "--trials", "2", "--seconds", "2")
    models.identity(identity, dims=("rows", 16))
    assert tuned(environment, identity, *FAKE, "--trials", "2", "--seconds", "2")["reused"] == 0


def test_interrupt_keeps_the_best_so_far_and_writes_the_repository(environment, identity, tmp_path):
    process = start(environment, identity, *FAKE, "--seconds", "600", "-o", tmp_path / "repo", "--json")
    wait_until(lambda: kept(environment) >= 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    result = json.loads(out)
    assert result["interrupted"] is True and result["confirmed"] is False
    assert result["best"]["samples"] > 0
    assert (tmp_path / "repo" / "identity" / "config.pbtxt").exists()


def test_samples_without_rows_are_refused_before_the_untuned_model_is_measured(environment, tmp_path):
    subprocess.run([RIDGE, "make", "mlp", "-o", str(tmp_path / "mlp.onnx")], check=True, capture_output=True)
    np.save(tmp_path / "none.npy", np.zeros((0, 1024), np.float32))
    done = subprocess.run([RIDGE, "tune", tmp_path / "mlp.onnx", "--seconds", "5", "--calibration",
                           tmp_path / "none.npy"], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 3 and "none.npy: its shape [0,1024] holds no samples" in done.stderr, done.stderr
    assert "untuned" not in done.stdout


def test_outputs_that_are_the_same_for_all_samples_admit_no_precision(environment, tmp_path):
    subprocess.run([RIDGE, "make", "mlp", "-o", str(tmp_path / "mlp.onnx")], check=True, capture_output=True)
    np.save(tmp_path / "zeros.npy", np.zeros((20, 1024), np.float32))
    done = subprocess.run([RIDGE, "tune", tmp_path / "mlp.onnx", "--seconds", "60", "--trials", "1", "--max-batch", "1",
                           "--engine", "onnxruntime",
                           "--precision", "int8-dynamic", "--calibration", tmp_path / "zeros.npy", "--json"],
                          capture_output=True, text=True, env=environment)
    result = json.loads(done.stdout)
    assert '"not-judged"' in done.stdout and "accuracy cannot be judged" in done.stdout
    assert result["candidate"].get("variant", "fp32") == "fp32"


def test_interrupt_while_precisions_are_prepared_writes_what_is_known(environment, tmp_path):
    subprocess.run([RIDGE, "make", "mlp", "-o", str(tmp_path / "mlp.onnx")], check=True, capture_output=True)
    terminal, stderr = pty.openpty()  # where every step is drawn
    process = subprocess.Popen([RIDGE, "tune", tmp_path / "mlp.onnx", "--precision", "int8", "--engine", "onnxruntime",
                                "--seconds", "600", "-o",
                                tmp_path / "repo", "--json"], stdout=subprocess.PIPE, stderr=stderr, text=True,
                               env=environment | {"TERM": "xterm"})
    os.close(stderr)
    drawn = b""
    while b"int8: calibration" not in drawn:
        drawn += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    reader = threading.Thread(target=lambda: drain(terminal), daemon=True)
    reader.start()
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, drawn
    result = json.loads(out)
    assert result["interrupted"] is True
    assert result["baseline"]["samples"] > 0
    assert (tmp_path / "repo" / "mlp" / "config.pbtxt").exists()
    assert result["choice"] == "baseline" and result["trials"] == 0


def test_first_lines_are_the_bound_and_the_untuned_model(environment, identity):
    done = tune(environment, identity, *FAKE, "--seconds", "5")
    first = done.stdout.splitlines()[:2]
    assert first[0].startswith("bound: ") and first[1].startswith("untuned: "), done.stdout
    assert "up to 5 s" in done.stderr.splitlines()[0]


def test_a_load_is_carried_or_answered_no(environment, identity):
    result = tuned(environment, identity, *FAKE, "--rps", "200", "--seconds", "20")
    assert result["goal"]["rows_per_s"] == 200 and result["goal"]["met"]
    assert result["at_load"]["done_per_s"] > 160
    done = tune(environment, identity, *FAKE, "--rps", "100000", "--seconds", "5")
    assert done.returncode == 1
    assert "0.00×" not in done.stdout


def test_impossible_goal_is_answered_no_with_the_closest_candidate(environment, identity, tmp_path):
    done = tune(environment, identity, *FAKE, "--p99-ms", "2", "--seconds", "5", "-o", tmp_path / "repo")
    assert done.returncode == 1, done.stderr
    assert "closest" in done.stdout.split("\n\nnext:\n")[0].splitlines()[-1]
    assert not (tmp_path / "repo").exists()


def test_compare_judges_only_the_stored_engine_and_precision(environment, identity, tmp_path):
    tuned(environment, identity, "-o", tmp_path / "repo", "--trials", "1", "--seconds", "6")
    stored = tmp_path / "repo" / "identity" / "tuning.json"
    result = json.loads(stored.read_text())
    result["candidate"] = {"engine": "openvino", "variant": "fp32", "threads": 1, "instances": 1, "batch": 1}
    stored.write_text(json.dumps(result))
    done = tune(environment, identity, "--compare", stored, "--seconds", "6", "--json")
    assert done.returncode in (0, 1), done.stderr  # another engine than the stored figures are of
    again = json.loads(done.stdout)
    assert [one["variant"] for one in again["accuracy"]["implementations"]] == ["fp32", "fp32"]
    assert again["candidate"]["engine"] == "openvino"


def test_compare_measures_the_stored_result_again(environment, identity, tmp_path):
    result = tuned(environment, identity, "-o", tmp_path / "repo", *FAKE, "--seconds", "8")
    again = tuned(environment, identity, *FAKE, "--compare", tmp_path / "repo" / "identity", "--seconds", "8")
    assert again["candidate"] == result["candidate"]
    assert again["regressed"] is False
    assert {row["what"] for row in again["compared"]} >= {"gain over the untuned model", "throughput"}
    # A row takes as long as a run did, one at a time: the gain of batches and instances is gone.
    slower = [*FAKE[:2], "--engine-option", "latency_ms=1", "--engine-option", "latency_ms_per_row=60",
              "--engine-option", "parallel=1", "--max-batch", "4"]
    done = tune(environment, identity, *slower, "--compare", tmp_path / "repo" / "identity" / "tuning.json",
                "--seconds", "8")
    assert done.returncode == 1, done.stderr
    assert "\nRegressed: gain over the untuned model" in done.stdout
    again = done.stdout.splitlines()[-1]
    assert again.startswith("  ridge tune ") and " --engine fake --engine-option latency_ms=1 " in again, done.stdout
    assert tune(environment, identity, *FAKE, "--compare", tmp_path / "absent.json").returncode == 3
    other = tune(environment, identity, "--compare", tmp_path / "repo" / "identity")
    assert (other.returncode,
            "of fake, this run of onnxruntime: give --engine fake" in other.stderr) == (2, True), other.stderr
    other = tune(environment, identity, *FAKE, "--device", "cuda:0", "--compare", tmp_path / "repo" / "identity")
    assert (other.returncode,
            "of cpu, this run of cuda:0: give --device cpu" in other.stderr) == (2, True), other.stderr


def test_a_full_search_measures_every_candidate_and_judges_the_quick_one(environment, identity):
    result = tuned(environment, identity, *FAKE[:-2], "--max-batch", "2", "--threads", "2", "--search", "full",
                   "--seconds", "15")
    assert result["space"]["measured"] == result["replay"]["points"] == len(result["points"])
    assert 0.3 < result["replay"]["quality"] <= 1
    assert 0 < result["replay"]["measured"] <= result["replay"]["points"]


def test_the_curve_over_the_batch_decides_how_requests_are_merged(environment, identity):
    result = tuned(environment, identity, *FAKE, "--seconds", "10")
    advice = result["batching_advice"]
    assert advice["helps"] is True and advice["preferred"][-1] == 4
    assert (advice["fixed_ms"], advice["per_row_ms"]) == (pytest.approx(6), pytest.approx(0.2)), advice  # by the script
    assert [point["batch"] for point in result["curve"]] == [1, 2, 4]
    # Two rows take 40 ms, which the goal forbids however little one row alone is disturbed.
    alone = tuned(environment, identity, *FAKE[:2], "--engine-option", "latency_ms_per_row=20", "--max-batch", "2",
                  "--p99-ms", "35", "--seconds", "8")["batching_advice"]
    assert (alone["helps"], alone["preferred"]) == (False, []), alone
    assert "above the goal" in alone["reason"], alone


def test_energy_as_an_objective_needs_counters(environment, identity):
    done = tune(environment, identity, *FAKE, "--objective", "energy", "--trials", "1")
    if os.path.exists("/sys/class/powercap/intel-rapl:0/energy_uj"):
        pytest.skip("this machine has energy counters")
    assert done.returncode == 3
    assert "no energy counter" in done.stderr


def test_unusable_store_costs_one_warning(environment, identity, tmp_path):
    (tmp_path / "broken").write_text("not a database, but long enough to be read as a header of one, "
                                     "which it is not at all")
    done = tune(environment, identity, *FAKE, "--trials", "2", "--seconds", "2", "--store", tmp_path / "broken")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("tuning store") == 1, done.stderr


def test_two_runs_at_once_share_a_store(environment, identity):
    both = [start(environment, identity, *FAKE, "--seconds", "6", "--json") for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "tuning store" not in err, err
        assert json.loads(out)["trials"] > 0


def test_existing_entry_gets_the_next_version_or_is_replaced(environment, identity, tmp_path):
    for _ in range(2):
        result = tuned(environment, identity, *FAKE, "--trials", "1", "--seconds", "1", "-o", tmp_path / "repo")
    assert result["repository"].endswith("/identity/2")
    result = tuned(environment, identity, *FAKE, "--trials", "1", "--seconds", "1", "-o", tmp_path / "repo",
                   "--overwrite")
    assert result["repository"].endswith("/identity/1")
    assert not (tmp_path / "repo" / "identity" / "2").exists()


@pytest.mark.parametrize("arguments",
                         [["--objective", "beauty"], ["--p99-ms", "-1"], ["--name", "a/b"], ["--engine-option", "x"],
                                       ["--seconds", "0"], ["--no-such-option"]])
def test_wrong_usage_is_status_2(environment, identity, arguments):
    assert tune(environment, identity, *arguments).returncode == 2


def test_a_shape_of_several_rows_is_refused_where_the_batch_is_searched(environment, identity):
    done = tune(environment, identity, *FAKE, "--shape", "x=4x16", "--trials", "1")
    assert done.returncode == 2
    assert "--max-batch 1" in done.stderr
    assert tuned(environment, identity, *FAKE[:-2], "--max-batch", "1", "--shape", "x=4x16", "--trials", "1",
                 "--seconds", "1")["best"]["batch"] == 4


def test_missing_model_is_status_3_and_named(environment, tmp_path):
    done = tune(environment, tmp_path / "absent.onnx")
    assert done.returncode == 3
    assert "absent.onnx" in done.stderr


def batch_in_the_input_only(path):
    """[batch, 4] goes in, and the engine itself sees that one row of four comes out."""
    models.save(path, [helper.make_node("Reshape", ["x", "one"], ["flat"]), helper.make_node("Relu", ["flat"], ["y"])],
                [("x", "FP32", ["batch", 4])], [("y", "FP32", ["batch", 4])],
                [helper.make_tensor("one", TensorProto.INT64, [2], [1, 4])])


def batch_that_fails_at_two(path):
    """Reshaped to min(batch, 1) rows of four, which shows only when it runs."""
    models.save(path,
                [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Min", ["shape", "most"], ["fixed"]),
                       helper.make_node("Reshape", ["x", "fixed"], ["y"])],
                [("x", "FP32", ["batch", 4])], [("y", "FP32", ["batch", 4])],
                [helper.make_tensor("most", TensorProto.INT64, [2], [1, 4])])


def rows_that_mix(path):
    """Each row minus the mean over the batch: right alone, wrong together."""
    models.save(path, [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=1),
                       helper.make_node("Sub", ["x", "mean"], ["y"])],
                [("x", "FP32", ["batch", 4])], [("y", "FP32", ["batch", 4])])


@pytest.mark.parametrize("make, reason", [(batch_in_the_input_only, "first dimension"),
                                          (batch_that_fails_at_two, "first dimension"),
                                          (rows_that_mix, "than alone")])
def test_batch_that_is_open_in_name_only_is_found_out(environment, tmp_path, make, reason):
    make(tmp_path / "odd.onnx")
    result = tuned(environment, tmp_path / "odd.onnx", "--seconds", "4", "-o", tmp_path / "repo", "--engine",
                   "onnxruntime", "--precision", "fp32")
    assert reason in result["not_batched"], result["not_batched"]
    assert result["best"]["batch"] == 1
    config = (tmp_path / "repo" / "odd" / "config.pbtxt").read_text()
    assert "max_batch_size" not in config or "max_batch_size: 0" in config
    assert "dynamic_batching" not in config


def test_a_batch_that_the_file_fixes_is_tuned_as_it_is(environment, tmp_path):
    models.identity(tmp_path / "four.onnx", dims=(4, 16))
    result = tuned(environment, tmp_path / "four.onnx", "--seconds", "2", "-o", tmp_path / "repo", "--engine",
                   "onnxruntime", "--precision", "fp32")
    assert "no open first dimension" in result["not_batched"], result["not_batched"]
    assert result["baseline"]["batch"] == result["best"]["batch"] == 4  # rows of one run
    assert all(point["throughput_per_s"] <= point["limit_per_s"] for point in result["pareto"]
               if point["limit_per_s"] > 0), result["pareto"]
    assert "dims: 4" in (tmp_path / "repo" / "four" / "config.pbtxt").read_text()


def test_real_engine_with_external_data(environment, tmp_path):
    path = tmp_path / "model" / "net.onnx"
    models.scaled(path, 2.0)
    model = onnx.load(str(path))
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(model.graph.initializer[0]),
                                                                "factor"))
    onnx.save(model, str(path), save_as_external_data=True, location="weights.bin", size_threshold=0)
    result = tuned(environment, path, "--seconds", "4", "-o", tmp_path / "repo", "--engine", "onnxruntime",
                   "--precision", "fp32")
    assert result["best"]["engine"] == "onnxruntime"
    assert result["drift"]["relative_l2"] < 1e-6
    assert result["gain"]["low"] > 1 if result["choice"] == "tuned" else result["choice"] == "baseline"
    assert result["baseline"]["memory_bytes"]["rss_delta"] > 0  # the engine was opened for it
    assert (tmp_path / "repo" / "net" / "1" / "weights.bin").exists()
    assert onnx.load(str(tmp_path / "repo" / "net" / "1" / "model.onnx")).graph.initializer


def test_options_given_for_openvino_are_in_the_repository(environment, tmp_path):
    if not list(pathlib.Path(RIDGE).parent.glob("libridge_openvino.so.*")):
        pytest.skip("ridge was built without OpenVINO's plugin")
    models.scaled(tmp_path / "net.onnx", 2.0)
    tuned(environment, tmp_path / "net.onnx", "--seconds", "1", "--trials", "1", "--max-batch", "1", "--precision",
          "fp32", "-o", tmp_path / "repo", "--engine", "openvino", "--engine-option", "EXECUTION_MODE_HINT=ACCURACY")
    config = (tmp_path / "repo" / "net" / "config.pbtxt").read_text()
    assert 'key: "ridge_option_EXECUTION_MODE_HINT"' in config


def test_written_repository_is_served_with_its_parameters(environment, tmp_path):
    models.scaled(tmp_path / "net.onnx", 2.0)
    tuned(environment, tmp_path / "net.onnx", "--precision", "fp32", "--seconds", "10", "-o", tmp_path / "repo",
          "--engine", "onnxruntime", "--engine-option", "session.set_denormal_as_zero=1")
    with Server(tmp_path / "repo") as server:
        request = json.dumps({"inputs": [fp32("x", [2, 4], [1.0] * 8)]})
        answer = server.post("/v2/models/net/infer", request)
        assert answer.status == 200, answer
        assert answer.json()["outputs"][0]["data"] == [2.0] * 8
        config = server.get("/v2/models/net/config").json()
        assert config["parameters"]["session.set_denormal_as_zero"]["string_value"] == "1"
