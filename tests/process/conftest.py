import os
import pathlib

import pytest

pytest.register_assert_rewrite("browser")  # its checks say what they compared

import models  # noqa: E402
from server import Server  # noqa: E402


@pytest.fixture
def repository(tmp_path):
    models.identity(tmp_path / "repo" / "identity" / "1" / "model.onnx")
    models.steps(tmp_path / "repo" / "steps" / "1" / "model.onnx")
    return tmp_path / "repo"


@pytest.fixture
def served(repository):
    """A server of that repository and of `scripted`, whose runs take 2 ms."""
    models.fake(repository / "scripted", latency_ms=2)
    with Server(repository) as server:
        yield server


@pytest.fixture(scope="session")
def real_onnxruntime():
    """The library behind the fake for ONNX Runtime's GPU build."""
    found = sorted(pathlib.Path(os.environ["RIDGE_DEPS"]).glob(
        "python/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*"))
    if not found:
        pytest.skip("no ONNX Runtime in RIDGE_DEPS")
    return found[-1]
