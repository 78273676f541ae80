import pytest

pytest.register_assert_rewrite("browser")  # its checks say what they compared

import models  # noqa: E402


@pytest.fixture
def repository(tmp_path):
    models.identity(tmp_path / "repo" / "identity" / "1" / "model.onnx")
    models.steps(tmp_path / "repo" / "steps" / "1" / "model.onnx")
    return tmp_path / "repo"
