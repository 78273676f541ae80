import pytest

import models


@pytest.fixture
def repository(tmp_path):
    models.identity(tmp_path / "repo" / "identity" / "1" / "model.onnx")
    models.work(tmp_path / "repo" / "work" / "1" / "model.onnx")
    return tmp_path / "repo"
