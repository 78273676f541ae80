"""The wheel in a new virtual environment, with the engines that pip brings. ctest: timeout 900

Only by ./dev package --check, which builds it.
"""

import json
import os
import pathlib
import subprocess

import pytest
import trial
from run_path import check_run_path

PACKAGES = os.environ.get("RIDGE_PACKAGES")
pytestmark = pytest.mark.skipif(not PACKAGES, reason="no packages: ./dev package --check builds and tests them")


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    venv = tmp_path_factory.mktemp("wheel") / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", venv], check=True)
    wheel = next(pathlib.Path(PACKAGES).glob("*manylinux*.whl"))
    subprocess.run([venv / "bin/python", "-m", "pip", "install", "-q", wheel], check=True)
    return venv


@pytest.fixture(autouse=True)
def environment(tmp_path_factory, monkeypatch):
    """Nothing leads to another ridge or another engine than the environment's."""
    for name in ("RIDGE", "RIDGE_ONNXRUNTIME", "RIDGE_OPENVINO", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def test_the_program_runs_the_engines_of_its_environment(venv, tmp_path):
    ridge = [str(venv / "bin/ridge")]
    versions = trial.try_engines(ridge, str(tmp_path))
    for engine, version in versions.items():
        installed = f"import importlib.metadata as m; print(m.version('{engine}'))"
        assert version == subprocess.run([venv / "bin/python", "-c", installed], capture_output=True,
                                         text=True).stdout.strip()
    trial.try_serving(ridge, str(tmp_path), tmp_path / "ports.json")


def test_no_run_path_leads_out_of_it(venv):
    package = next(venv.glob("lib/python3*/site-packages/ridge"))
    for file in [package / "bin/ridge", *venv.glob("lib/python3*/site-packages/ridge*/**/*.so*")]:
        check_run_path(file)


def test_the_module_asks_the_program_beside_it(venv):
    code = "import ridge, json; p = ridge.plan('mlp'); print(json.dumps([ridge.program(), p.bound_ms]))"
    program, bound_ms = json.loads(trial.run([str(venv / "bin/python")], "-c", code))
    assert program.startswith(str(venv)) and bound_ms > 0


def test_its_licences_are_in_it(venv):
    folder = next(venv.glob("lib/python3*/site-packages/ridge-*.dist-info/licenses"))
    assert {file.name for file in folder.iterdir()} == {"LICENSE", "NOTICE", "THIRD-PARTY-NOTICES"}
    assert "libudev1" in (folder / "THIRD-PARTY-NOTICES").read_text()  # what is in the wheel only
