"""cmake --install of this build: the program runs from its new place, with manual pages, completions, licences and unit
beside it."""

import gzip
import os
import pathlib
import shutil
import subprocess

import pytest
from run_path import check_run_path

BUILD = pathlib.Path(os.environ["RIDGE"]).parent
DEPS = pathlib.Path(os.environ["RIDGE_DEPS"])
VERBS = ("doctor", "make", "describe", "gpus", "plan", "size", "bench", "tune", "serve", "power", "lab", "show",
         "compare", "history", "explain", "completion")


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    output(DEPS / "python/bin/cmake", "--install", BUILD, "--strip", "--prefix", prefix)
    return prefix


@pytest.fixture
def ridge(prefix):
    return str(prefix / "bin/ridge")


def test_the_program_finds_its_plugin(prefix, ridge):
    assert output(ridge, "--version") == output(os.environ["RIDGE"], "--version")
    plugins = list((prefix / "lib/ridge").glob("libridge_openvino.so.*"))
    asked = subprocess.run([ridge, "bench", "mlp", "--engine", "openvino", "--engine-library", "/nonexistent",
                            "--seconds", "1"],
                           capture_output=True, text=True,
                           env=os.environ | {"XDG_CACHE_HOME": str(BUILD / "test-cache")})
    assert asked.returncode == 3
    assert ("/nonexistent" if plugins else "plugin") in asked.stderr


@pytest.mark.parametrize("root", ["built", "installed"])
def test_no_run_path_leads_to_where_the_program_is_started(prefix, root):
    files = [BUILD / "ridge", *BUILD.glob("libridge_*.so.*")
             ] if root == "built" else [prefix / "bin/ridge", *prefix.glob("lib/ridge/*")]
    for file in files:
        check_run_path(file)


def test_plugins_have_no_copy_of_onnx_messages():
    """Protobuf ends a process that registers them twice."""
    for file in BUILD.glob("libridge_*.so.*"):
        assert b"onnx-ml.proto" not in file.read_bytes(), file


def test_every_verb_has_a_manual_page(prefix):
    for name in ("ridge", *(f"ridge-{verb}" for verb in VERBS)):
        page = gzip.open(prefix / f"share/man/man1/{name}.1.gz", "rt").read()
        head, rest = page.split(".SH DESCRIPTION\n")
        assert head.splitlines()[-1].startswith(name.replace("-", "\\-") + " \\- "), head
        assert len(rest) > 200


def test_notices_name_what_is_linked(prefix):
    folder = prefix / "share/doc/ridge"
    assert "Apache License" in (folder / "LICENSE").read_text()
    notices = (folder / "THIRD-PARTY-NOTICES").read_text()
    for part in ("libprotobuf", "libboost", "libjs-chart.js", "libstb-dev", "  ONNX\n"):
        assert part in notices.split("=" * 20)[0], part
    assert "libgtest" not in notices.split("=" * 20)[0]


def test_the_unit_starts_the_installed_program(prefix, ridge):
    unit = prefix / "lib/systemd/system/ridge.service"
    assert f"ExecStart={ridge} serve " in unit.read_text()


def test_every_verb_lists_its_options(ridge):
    assert tuple(output(ridge, "list-words").split()) == VERBS
    for verb in VERBS:
        assert "--help" in output(ridge, "list-words", verb).split(), verb
    assert "device" in output(ridge, "list-words", "bench").split()
    assert "--cache" in output(ridge, "list-words", "bench", "device").split()
    assert "--registers" in output(ridge, "list-words", "lab", "occupancy").split()


SHELLS = {
    "bash": 'source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); _ridge; printf "%s\\n" "${COMPREPLY[@]}"',
    # compadd exists only while zsh completes: here it filters and prints
    "zsh": 'compadd() { shift; print -l -- "${(M)@:#${words[CURRENT]}*}" }; _files() { }; fpath=(${1:h}); '
           'autoload -U _ridge; words=("${@[2,-1]}"); CURRENT=${#words}; _ridge',
    "fish": 'source $argv[1]; complete -C (string join -- " " $argv[2..-1])',
}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion(prefix, ridge, shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = next(prefix.glob("share/**/_ridge" if shell == "zsh" else f"share/{shell}*/**/ridge*"))

    def completed(*words):
        path = os.pathsep.join([str(prefix / "bin"), os.environ["PATH"]])
        command = [shell, *(["-f"] if shell == "zsh" else []), "-c", SHELLS[shell], *([] if shell == "fish" else ["-"]),
                   script, "ridge", *words]
        return output(*command, cwd=tmp_path, env=os.environ | {"PATH": path, "HOME": str(tmp_path)}).split()

    assert completed("be") == ["bench"]
    assert completed("bench", "--thr") == ["--threads"]
    assert "device" in completed("bench", "d")
    assert completed("bench", "device", "--cac") == ["--cache"]
