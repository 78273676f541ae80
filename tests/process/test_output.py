"""Where results go: a full disk, devices, pipes."""

import os
import pty
import stat
import subprocess

import models
import pytest
from server import RIDGE


def run(*arguments, **options):
    return subprocess.run([RIDGE, *map(str, arguments)], stderr=subprocess.PIPE, text=True, timeout=120, **options)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_output_that_a_full_disk_does_not_take_is_a_failure(repository, form):
    with open("/dev/full", "w") as full:
        ended = run("plan", repository / "identity/1/model.onnx", *form, stdout=full)
    assert ended.returncode == 3 and "standard output could not be written" in ended.stderr


@pytest.mark.parametrize("verb, option", [("plan", "--html"), ("bench", "--engine-library"),
                                          ("tune", "--engine-library"), ("tune", "-o")])
def test_what_cannot_be_used_is_refused_before_anything_is_measured(repository, tmp_path, verb, option):
    os.mkfifo(tmp_path / "pipe")
    value = "/proc/x" if option == "-o" else tmp_path / "pipe"
    ended = run(verb, repository / "identity/1/model.onnx", option, value, stdout=subprocess.PIPE,
                env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)})
    assert ended.returncode in (2, 3) and "measured first" not in ended.stderr and ended.stdout == "", ended.stderr


def test_a_pipe_is_not_replaced_by_a_page(repository, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    ended = run("plan", repository / "identity/1/model.onnx", "--html", tmp_path / "pipe", stdout=subprocess.DEVNULL)
    assert ended.returncode != 0 and "not a file" in ended.stderr
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_what_has_no_rule_is_not_known_wherever_it_is_shown(tmp_path):
    models.trees(tmp_path / "trees.onnx")
    described = run(tmp_path / "trees.onnx", stdout=subprocess.PIPE).stdout
    assert "not known: there is no rule for ai.onnx.ml.TreeEnsembleRegressor" in described
    assert "0 FLOP" not in described and " of\n" not in described
    planned = run("plan", tmp_path / "trees.onnx", stdout=subprocess.PIPE).stdout
    rows = {line.split()[0]: line for line in planned.splitlines() if line.strip()}
    for figure in ("FLOPs", "intensity", "bound"):
        assert "not known" in rows[figure], rows[figure]
    layer = next(line for line in planned.splitlines() if "TreeEnsembleRegressor" in line and "no rule" in line)
    assert "not known" in layer and "memory" not in layer, layer


@pytest.mark.parametrize("term, coloured", [("xterm-256color", True), ("tmux", True), ("", False), (None, False),
                                            ("dumb", False), ("unknown-42", False)])
def test_only_a_terminal_that_is_known_gets_escapes(term, coloured):
    terminal, stderr = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR")}
    subprocess.run([RIDGE, "describe", "/no/such.onnx"], stderr=stderr,
                   env=environment if term is None else environment | {"TERM": term})
    os.close(stderr)
    assert (b"\x1b[" in os.read(terminal, 65536)) == coloured
    os.close(terminal)
