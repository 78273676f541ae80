"""`ridge serve --record`: what goes over the wire lies in files that NumPy reads, and no request notices."""

import json
import subprocess

import models
import numpy as np
from server import RIDGE, Server, fp32


def request(rows, start):
    values = [start + i for i in range(16 * rows)]
    return json.dumps({"inputs": [fp32("x", [rows, 16], values)]}), np.array(values, np.float32).reshape(rows, 16)


def recorded(folder):
    return sorted(folder.glob("identity/request-*.npz"))


def test_inputs_are_recorded_as_sent_up_to_the_number(repository, tmp_path):
    folder = tmp_path / "recorded"
    sent = []
    with Server(repository, f"--record={folder}:3") as server:
        for i in range(5):
            body, values = request(1 + i % 2, 100.0 * i)
            assert server.post("/v2/models/identity/infer", body).status == 200
            sent.append(values)
        assert server.post("/v2/models/identity/infer", '{"inputs":[]}').status == 400
        assert server.stop() == 0
    files = recorded(folder)
    assert len(files) == 3
    for file, values in zip(files, sent):
        with np.load(file) as arrays:
            assert arrays.files == ["x"]
            np.testing.assert_array_equal(arrays["x"], values)
    assert not list(folder.glob(".*")) and not list(folder.glob("identity/*.tmp*"))


def test_a_folder_that_cannot_be_written_is_said_at_the_start(repository, tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run([RIDGE, "serve", repository, f"--record={tmp_path}/file/x"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 3
    assert "--record" in done.stderr
    done = subprocess.run([RIDGE, "serve", repository, "--record=x:0"], capture_output=True, text=True, timeout=60,
                          cwd=tmp_path)
    assert done.returncode == 2


def test_recording_that_fails_later_fails_no_request(repository, tmp_path):
    folder = tmp_path / "recorded"
    with Server(repository, f"--record={folder}") as server:
        (folder / "identity").write_text("in the way")
        for i in range(3):
            assert server.post("/v2/models/identity/infer", request(1, i)[0]).status == 200
        assert server.stop() == 0
