#!/usr/bin/env python3
"""Loads a repository that `ridge tune` wrote in a real Triton Inference Server, and says what happened.

  benchmarks/repository_in_triton.py REPOSITORY --triton LAUNCHER --backends DIR

LAUNCHER is called with REPOSITORY HTTP GRPC METRICS BACKENDS (ports, and a folder of backends); DIR holds Triton's own
backends. Two starts:

  as it is     each model is ready, or Triton's reason; where only the backend's library is missing, Triton's parser and
  its checks
               of the configuration have passed
  fakes    the backends `onnxruntime` and `openvino`, where DIR lacks them, are python-based ones made here, which run
  the file in
               ONNX Runtime; Triton's core then does everything else by the written configuration: versions, instances,
               batching, warm-up. Triton's copy of the configuration must say what was written, and its answers must
               equal those of ONNX Runtime in this process.

Exit 1 if a model loads in neither, if Triton's configuration differs, or an answer does.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
from google.protobuf import descriptor_pb2, json_format, message_factory, text_format

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import client_check  # noqa: E402

FAKE_BACKEND = '''
import json, os
import onnxruntime
import triton_python_backend_utils as utils

class TritonPythonModel:
    def initialize(self, arguments):
        config = json.loads(arguments["model_config"])
        self.outputs = [output["name"] for output in config["output"]]
        folder = os.path.join(arguments["model_repository"], arguments["model_version"])
        parameters = {key: value["string_value"] for key, value in config["parameters"].items()}
        options = onnxruntime.SessionOptions()
        threads = parameters.get("intra_op_thread_count", parameters.get("INFERENCE_NUM_THREADS", "0"))
        options.intra_op_num_threads = int(threads)
        self.session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), options,
                                                    providers=["CPUExecutionProvider"])
        self.inputs = [each.name for each in self.session.get_inputs()]

    def execute(self, requests):
        answers = []
        for request in requests:
            given = {name: utils.get_input_tensor_by_name(request, name).as_numpy() for name in self.inputs}
            values = self.session.run(self.outputs, given)
            answers.append(utils.InferenceResponse([utils.Tensor(name, value)
                                                    for name, value in zip(self.outputs, values)]))
        return answers
'''
PORTS = (18480, 18481, 18482)
# Triton completes a configuration; these are what the tuner writes and means.
WRITTEN = ("name", "backend", "max_batch_size", "default_model_filename", "parameters", "dynamic_batching",
           "model_warmup")


@contextlib.contextmanager
def triton(launcher, repository, backends):
    """A Triton that has tried to load everything; yields its log so far as a function."""
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
        command = [launcher, str(repository), *map(str, PORTS), str(backends)]
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, process_group=0)

        def text():
            return pathlib.Path(log.name).read_text(errors="replace")

        try:
            deadline = time.monotonic() + 120
            # The table of models comes when all were tried; Triton may end there when one of them could not be loaded.
            while time.monotonic() < deadline and child.poll() is None and not answers():
                time.sleep(0.2)
            yield text
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def answers():
    """True if a server listens at Triton's port for HTTP."""
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", PORTS[0]), timeout=1).close()
        return True
    return False


def statuses(log):
    """Model → (version, status) from the table that Triton prints when it has tried all."""
    rows = re.findall(r"^\| (\S+) +\| (\S+) +\| (READY|UNAVAILABLE)(.*?) *\|$", log, re.MULTILINE)
    return {name: (version, (state + rest).strip()) for name, version, state, rest in rows}


def complaints(log):
    """Triton's reasons for models that it could not load, each once."""
    return sorted(set(re.findall(r"^E.*?(failed to load '.*?)\"?$", log, re.MULTILINE)))


def with_fakes(folder, backends, wanted):
    """A folder with Triton's own backends, and a fake for each wanted one that is not among them."""
    made = []
    for own in backends.iterdir():
        (folder / own.name).symlink_to(own)
    for name in wanted:
        if not (folder / name).exists():
            (folder / name).mkdir()
            (folder / name / "model.py").write_text(FAKE_BACKEND)
            made.append(name)
    return made


def same_answers(model, file):
    """True if Triton's answers to a few requests are those of ONNX Runtime here."""
    client = client_check.Client(PORTS[0], model)
    generator = numpy.random.default_rng(7)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for _ in range(3):
        inputs = client_check.random_inputs(client.metadata(), generator)
        expected = dict(zip(names, session.run(names, inputs)))
        if not client_check.compare(expected, client.infer(client_check.binary_request(inputs)), True)[1]:
            return False
    return True


def written_config(text):
    """The tuner's configuration, read by Triton's own schema."""
    files = descriptor_pb2.FileDescriptorSet.FromString((ROOT / ".deps/proto/inference.desc").read_bytes())
    schema = message_factory.GetMessages(files.file)["inference.ModelConfig"]
    return json_format.MessageToDict(text_format.Parse(text, schema()), preserving_proto_field_name=True)


def normalised(value):
    """Numbers as text: protobuf's JSON writes 64-bit ones so, Triton does not."""
    if isinstance(value, dict):
        return {key: normalised(each) for key, each in value.items()}
    if isinstance(value, list):
        return [normalised(each) for each in value]
    return str(value)


def contains(whole, part):
    """True if `whole` says all that `part` says, and possibly more."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and contains(whole[key], value) for key,
                                               value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(contains, whole, part))
    return whole == part


def check_fake(name, folder):
    """Complaints about a model that Triton has loaded."""
    versions = sorted(int(each.name) for each in folder.iterdir() if each.name.isdigit())
    client = client_check.Client(PORTS[0], name)
    config = json.loads(client.call("GET", f"/v2/models/{name}/config")[1])
    want = written_config((folder / "config.pbtxt").read_text())
    wrong = [f"Triton's {key} differs: {config.get(key)} instead of {want[key]}" for key in WRITTEN
             if key in want and not contains(normalised(config.get(key)), normalised(want[key]))]
    if not same_answers(name, folder / str(versions[-1]) / "model.onnx"):
        wrong.append("its answers differ from ONNX Runtime's in this process")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("--triton", required=True, help="launcher: REPOSITORY HTTP GRPC METRICS BACKENDS")
    parser.add_argument("--backends", type=pathlib.Path, required=True, help="folder of Triton's own backends")
    options = parser.parse_args()
    models = sorted(config.parent for config in options.repository.glob("*/config.pbtxt"))
    wanted = {re.search(r'^backend: "(\w+)"', (folder / "config.pbtxt").read_text(), re.MULTILINE)[1]
              for folder in models}

    failed = False
    with triton(options.triton, options.repository, options.backends) as log:
        print("as it is:")
        for name, (version, status) in statuses(log()).items():
            print(f"  {name} version {version}: {status}")
        for complaint in complaints(log()):
            print(f"    {complaint}")
    with tempfile.TemporaryDirectory() as temporary:
        made = with_fakes(pathlib.Path(temporary), options.backends, wanted)
        print("with python-based fakes for " + (", ".join(made) or "nothing") + ":")
        with triton(options.triton, options.repository, temporary) as log:
            found = statuses(log())
            for folder in models:
                version, status = found.get(folder.name, ("-", "not tried"))
                wrong = check_fake(folder.name, folder) if status == "READY" else complaints(log())
                failed |= status != "READY" or bool(wrong)
                print(f"  {folder.name} version {version}: {status}"
                      + ("" if wrong else ", configuration as written, answers equal"))
                for complaint in wrong:
                    print(f"    {complaint}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
