import pytest

import models


@pytest.fixture
def repository(tmp_path):
    models.identity(tmp_path / "repo" / "identity" / "1" / "model.onnx")
    models.steps(tmp_path / "repo" / "steps" / "1" / "model.onnx")
    return tmp_path / "repo"
