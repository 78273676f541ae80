"""client_check.py: the end of the main job: serves a repository with one model and speaks to it as a client.

--check  sends requests over HTTP at a fixed concurrency, compares every answer with ONNX Runtime run in this process on
the same
         inputs, prints one line of figures, stops the server, and fails if anything was not as it should be.
--serve  sends one real request, prints the address and a curl line to try, and serves until Ctrl-C.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import onnxruntime

NUMPY_OF = {"BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
            "INT8": "int8",
            "INT16": "int16", "INT32": "int32", "INT64": "int64", "FP16": "float16", "FP32": "float32",
            "FP64": "float64"}
DISTINCT_INPUTS = 8      # more would only cost time: every answer is compared with that of its own input
FREE_DIMENSION = 16      # for a variable dimension that is not the batch, such as a sequence length
START_TIMEOUT_S = 300    # loading and warming up every batch size of a large model
STOP_TIMEOUT_S = 60
# Largest difference accepted, relative to the largest expected magnitude: another batch size takes another order of
# sums.
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-6}
LEAST_COSINE = 0.999     # of lower precision, whose sums depend on engine and batch


class Server:
    """A ridge serve process, from start to clean end."""

    def __init__(self, ridge, repository, port):
        self.folder = tempfile.TemporaryDirectory(prefix="ridge-run-")
        port_file = pathlib.Path(self.folder.name, "port")
        command = [ridge, "serve", str(repository), "--http-port", str(port), "--grpc-port",
                   str(free_port(8001) if port else 0), "--metrics-port", str(free_port(8002) if port else 0),
                   "--exit-on-error", "--port-file", str(port_file)]
        # A group of its own: Ctrl-C comes here only, and the server gets one signal to stop, not two.
        self.process = subprocess.Popen(command, process_group=0)
        try:
            self.port = self.wait_until_ready(port_file)
        except BaseException:
            self.stop()
            raise

    def wait_until_ready(self, port_file):
        """Returns the port."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if port_file.exists() and self.ready(port := json.loads(port_file.read_text())["http"]):
                return port
            time.sleep(0.05)
        if self.process.returncode is not None:
            raise SystemExit(f"the server ended with {self.process.returncode} instead of becoming ready")
        raise SystemExit(f"the server was not ready after {START_TIMEOUT_S} s")

    @staticmethod
    def ready(port):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == 200
        return False

    def stop(self):
        """Asks for a graceful end; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.folder.cleanup()


class Client:
    """One keep-alive connection that speaks the Open Inference Protocol with binary tensors."""

    def __init__(self, port, model):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self.path = f"/v2/models/{model}"

    def call(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {content[:500].decode(errors='replace')}")
        return response, content

    def metadata(self):
        return json.loads(self.call("GET", self.path)[1])

    def infer(self, request):
        header, tensors = request
        headers = {"Inference-Header-Content-Length": str(len(header)), "Content-Type": "application/octet-stream"}
        response, content = self.call("POST", self.path + "/infer", header + tensors, headers)
        length = int(response.headers.get("Inference-Header-Content-Length", len(content)))
        at, outputs = length, {}
        for output in json.loads(content[:length])["outputs"]:
            kind = numpy.dtype(NUMPY_OF[output["datatype"]])
            if "data" in output:
                values = numpy.array(output["data"], kind)
            else:
                size = output["parameters"]["binary_data_size"]
                values = numpy.frombuffer(content[at:at + size], kind)
                at += size
            outputs[output["name"]] = values.reshape(output["shape"])
        return outputs


def random_inputs(metadata, generator):
    """One row for each input of the model; text and token models get small valid ids, masks of ones."""
    inputs = {}
    for tensor in metadata["inputs"]:
        if tensor["datatype"] not in NUMPY_OF:
            raise SystemExit(f"cannot make values of type {tensor['datatype']} for input {tensor['name']}")
        kind = numpy.dtype(NUMPY_OF[tensor["datatype"]])
        shape = [size if size >= 0 else 1 if axis == 0 else FREE_DIMENSION for axis, size in enumerate(tensor["shape"])]
        if kind.kind == "f":
            values = generator.standard_normal(shape)
        elif "mask" in tensor["name"]:
            values = numpy.ones(shape)
        else:
            values = generator.integers(0, 2, shape)
        inputs[tensor["name"]] = values.astype(kind)
    return inputs


def binary_request(inputs):
    """(JSON header, tensor bytes) of an infer request that wants binary outputs."""
    datatype = {name: tag for tag, name in NUMPY_OF.items()}
    header = {"inputs": [{"name": name, "shape": list(values.shape), "datatype": datatype[values.dtype.name],
                          "parameters": {"binary_data_size": values.nbytes}} for name, values in inputs.items()],
              "parameters": {"binary_data_output": True}}
    return json.dumps(header).encode(), b"".join(values.tobytes() for values in inputs.values())


def json_request(metadata, inputs):
    """The same request as plain JSON, outputs shortened to the three largest values of each row where they are
    numbers."""
    datatype = {name: tag for tag, name in NUMPY_OF.items()}
    return {"inputs": [{"name": name, "shape": list(values.shape), "datatype": datatype[values.dtype.name],
                        "data": [round(value, 4) if isinstance(value, float) else value
                                 for value in values.ravel().tolist()]}
                       for name, values in inputs.items()],
            "outputs": [{"name": tensor["name"], "parameters": {"classification": 3}} for tensor in metadata["outputs"]
                        if tensor["datatype"] != "BYTES"]}


def close(want, got, exact):
    """True if an output is right; where precision was lowered, by the accuracy guard's default."""
    want, got = want.astype("float64").ravel(), got.astype("float64").ravel()
    if exact:
        limit = TOLERANCE.get(exact, 0) * max(1.0, float(numpy.max(numpy.abs(want))))
        return bool(numpy.max(numpy.abs(want - got)) <= limit)
    return bool(want @ got >= LEAST_COSINE * numpy.linalg.norm(want) * numpy.linalg.norm(got))


def compare(expected, actual, exact):
    """(largest absolute difference, whether all are close) over all outputs."""
    worst, fine = 0.0, set(expected) == set(actual)
    for name, want in expected.items():
        got = actual.get(name)
        if got is None or got.shape != want.shape:
            return float("inf"), False
        if want.size == 0:
            continue
        difference = float(numpy.max(numpy.abs(want.astype("float64") - got.astype("float64"))))
        worst, fine = max(worst, difference), fine and close(want, got, want.dtype.name if exact else None)
    return worst, fine


def load(port, model, requests, count, concurrency):
    """Sends `count` requests from `concurrency` connections; returns (seconds, [(input, latency_s, outputs)],
    [error])."""
    answers, errors, lock, numbers = [], [], threading.Lock(), iter(range(count))

    def worker():
        client = Client(port, model)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            which, begin = number % len(requests), time.perf_counter()
            try:
                outputs = client.infer(requests[which])
                answer = which, time.perf_counter() - begin, outputs
            except (OSError, RuntimeError, http.client.HTTPException) as error:
                with lock:
                    errors.append(str(error))
                client = Client(port, model)
                continue
            with lock:
                answers.append(answer)

    threads = [threading.Thread(target=worker) for _ in range(concurrency)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin, answers, errors


def precision_of(file):
    """The model's tuned value, by the tuning.json beside its versions."""
    tuning = file.parent.parent / "tuning.json"
    return json.loads(tuning.read_text())["best"]["precision"] if tuning.exists() else "fp32"


def check(server, model, file, count, concurrency):
    """Returns (line of figures, complaints)."""
    generator = numpy.random.default_rng(7)
    metadata = Client(server.port, model).metadata()
    inputs = [random_inputs(metadata, generator) for _ in range(DISTINCT_INPUTS)]
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    expected = [dict(zip(names, session.run(names, each))) for each in inputs]
    del session  # its threads would compete with the server's

    seconds, answers, errors = load(server.port, model, [binary_request(each) for each in inputs], count, concurrency)
    complaints = [f"{len(errors)} requests failed, the first with: {errors[0]}"] if errors else []
    exact = precision_of(file) == "fp32"
    results = [compare(expected[which], outputs, exact) for which, _, outputs in answers]
    worst = max((difference for difference, _ in results), default=float("inf"))
    wrong = sum(not fine for _, fine in results)
    if wrong:
        complaints.append(f"{wrong} answers differ from the in-process result, by up to {worst:.3g}")
    latency_ms = numpy.array([latency for _, latency, _ in answers] or [float("nan")]) * 1e3
    figures = (f"{model}: {len(answers)} of {count} requests answered, concurrency {concurrency}: "
               f"{len(answers) / seconds:.1f} requests/s, "
               f"p50 {numpy.percentile(latency_ms, 50):.2f} ms, p99 {numpy.percentile(latency_ms, 99):.2f} ms, "
               f"max abs difference from in-process {worst:.2g}")
    return figures, complaints


def show(server, model, folder):
    """One real request, and how to send it again."""
    client = Client(server.port, model)
    metadata = client.metadata()
    inputs = random_inputs(metadata, numpy.random.default_rng(7))
    begin = time.perf_counter()
    outputs = client.infer(binary_request(inputs))
    shapes = ", ".join(f"{name} {list(values.shape)}" for name, values in outputs.items())
    request = folder / "request.json"
    request.write_text(json.dumps(json_request(metadata, inputs)))
    print(f"\n{model} answered in {(time.perf_counter() - begin) * 1e3:.1f} ms: {shapes}")
    print(f"serving at http://127.0.0.1:{server.port} until Ctrl-C; try\n")
    print(f"  curl http://127.0.0.1:{server.port}/v2/models/{model}/infer -d @{os.path.relpath(request)}\n", flush=True)


def free_port(wanted):
    """`wanted`, or 0 (any) when something listens there already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", wanted))
        except OSError:
            return 0
    return wanted


def only_model(repository):
    """(name, model file of the highest version) of a repository with one model."""
    files = sorted(repository.glob("*/*/model.onnx"), key=lambda file: int(file.parent.name))
    if len({file.parent.parent for file in files}) != 1:
        raise SystemExit(f"{repository}: expected one model with an ONNX file, found {len(files)}")
    return files[-1].parent.parent.name, files[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ridge", required=True)
    parser.add_argument("--repository", required=True, type=pathlib.Path)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=4)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    model, file = only_model(options.repository)

    if options.serve:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(0))
        server = Server(options.ridge, options.repository, free_port(8000))
        try:
            show(server, model, options.repository.parent)
            server.process.wait()
        except KeyboardInterrupt:
            pass
        finally:
            status = server.stop()
        sys.exit(status)

    server = Server(options.ridge, options.repository, 0)
    figures, complaints = "", []
    try:
        figures, complaints = check(server, model, file, options.requests, options.concurrency)
    finally:
        status = server.stop()
    if status != 0:
        complaints.append(f"the server ended with {status} after SIGTERM")
    print("check " + ("failed: " if complaints else "passed: ") + figures)
    for complaint in complaints:
        print("  " + complaint)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
