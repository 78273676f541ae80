"""Models that do not end, and outputs that are not numbers: bench and tune say so. ctest: timeout 120"""

import json
import os
import pathlib
import subprocess

import models
import onnx
import pytest
import schemas
from onnx import helper
from server import RIDGE

ENVIRONMENT = os.environ | {"XDG_CACHE_HOME": str(pathlib.Path(RIDGE).parent / "test-cache")}


def run(*arguments):
    return subprocess.run([RIDGE, *map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT, timeout=100)


def test_a_model_that_does_not_end_is_ended(tmp_path):
    models.endless(tmp_path / "endless.onnx")
    both = [subprocess.Popen([RIDGE, verb, tmp_path / "endless.onnx", "--seconds", "1", *more], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True,
                             env=ENVIRONMENT) for verb,
            more in (("bench", ()), ("bench", ("--layers",)), ("tune", ("--engine", "onnxruntime")))]
    for process in both:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 3 and "did not end within 11 s" in errors and "--seconds" in errors, errors


@pytest.fixture
def not_a_number(tmp_path):
    models.save(tmp_path / "nan.onnx",
                [helper.make_node("Sub", ["x", "x"], ["zero"]), helper.make_node("Div", ["zero", "zero"], ["y"])],
                [("x", "FP32", ["batch", 4])], [("y", "FP32", ["batch", 4])])
    return tmp_path / "nan.onnx"


def test_bench_says_which_outputs_are_not_numbers(not_a_number):
    done = run("bench", not_a_number, "--seconds", 1)
    assert "output 'y': 4 of 4 values are NaN" in done.stdout
    result = json.loads(run("bench", not_a_number, "--seconds", 1, "--json").stdout)
    assert result["advice_id"] == "not-finite" and not schemas.errors_of("bench", result)


def test_tune_says_so_of_the_untuned_model(not_a_number):
    done = run("tune", not_a_number, "--seconds", 4, "--trials", 1, "--max-batch", 1, "--engine", "onnxruntime",
               "--precision", "fp32", "--json")
    result = json.loads(done.stdout)
    assert result["baseline"]["advice_id"] == "not-finite" and not schemas.errors_of("tune", result)


def test_what_the_engine_cannot_open_is_said_with_its_remedy_and_without_its_source(tmp_path):
    models.save(tmp_path / "future.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", "FP32", [4])],
                [("y", "FP32", [4])])
    model = onnx.load(tmp_path / "future.onnx")
    for file, version in (("newer", onnx.IR_VERSION), ("future", 99)):  # than the engine's, and than our own reader's
        model.ir_version = version
        (tmp_path / f"{file}.onnx").write_bytes(model.SerializeToString())
    models.save(tmp_path / "words.onnx",
                [helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action="LOWER", locale="xx_YY")],
                [("x", "BYTES", [4])], [("y", "BYTES", [4])])
    for file, remedy in (("newer", "ir_version = 10"), ("future", "ir_version = 10"), ("words", "locale-gen")):
        done = run("bench", tmp_path / f"{file}.onnx", "--seconds", 1)
        assert done.returncode == 3 and remedy in done.stderr and "onnxruntime_src" not in done.stderr, done.stderr
