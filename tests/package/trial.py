"""Tries an installed ridge: it must bench, tune and serve a model that it makes."""

import json
import signal
import subprocess
import time
import urllib.error
import urllib.request

REQUEST = {"inputs": [{"name": "x", "shape": [1, 16], "datatype": "FP32", "data": list(range(16))}]}


def run(ridge, *arguments):
    """stdout of `ridge` (a command's words) with the arguments."""
    done = subprocess.run([*ridge, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join([*ridge, *arguments])} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def try_engines(ridge, folder):
    """`folder` is the program's name of an empty folder. Returns the engines' versions."""
    versions = {}
    for engine in ("onnxruntime", "openvino"):
        measured = json.loads(run(ridge, "bench", "mlp", "--engine", engine, "--seconds", "1", "--ci", "50", "--json"))
        assert measured["samples"] > 0 and measured["percent_of_limit"] > 0
        versions[engine] = measured["engine_version"]
    run(ridge, "make", "identity", "-o", f"{folder}/identity.onnx")
    tuned = json.loads(run(ridge, "tune", f"{folder}/identity.onnx", "-o", f"{folder}/repo", "--seconds", "2",
                           "--max-batch", "2", "--precision", "fp32", "--json"))
    assert tuned["repository"]
    return versions


def try_serving(ridge, folder, ports):
    """Serves what was tuned; `ports` is this machine's path of folder/ports.json."""
    server = subprocess.Popen([*ridge, "serve", f"{folder}/repo", "--http-address", "127.0.0.1", "--http-port", "0",
                               "--grpc-port", "0", "--metrics-port", "0", "--port-file", f"{folder}/ports.json"],
                              stderr=subprocess.PIPE, text=True)
    try:
        answer = ask(server, ports)
    finally:
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=60)
    assert answer["outputs"][0]["data"] == REQUEST["inputs"][0]["data"], errors
    assert server.returncode == 0, errors


def ask(server, ports):
    last = None
    for _ in range(600):
        assert server.poll() is None, server.stderr.read()
        try:
            url = f"http://127.0.0.1:{json.loads(ports.read_text())['http']}/v2/models/identity/infer"
            with urllib.request.urlopen(urllib.request.Request(url, json.dumps(REQUEST).encode())) as reply:
                return json.load(reply)
        except (OSError, ValueError, urllib.error.URLError) as error:  # not yet open, or not yet loaded
            last = error
            time.sleep(0.1)
    raise AssertionError(f"the model was not served within a minute: {last}")
