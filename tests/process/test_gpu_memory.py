"""CUDA shared memory between two processes: this one is the client and exports memory of a GPU, the server opens it.
The GPU is of the fake for NVIDIA's driver; the requests are the stock client's."""

import base64
import ctypes
import os
import pathlib
import subprocess
import sys

import models
import numpy as np
import pytest
import tritonclient.http as http
from server import Server
from tritonclient.utils import InferenceServerException, serialize_byte_tensor

SUPPORT = pathlib.Path(os.environ["RIDGE_TEST_SUPPORT"])
DRIVER = SUPPORT / "libcuda.so.1"
SCRIPT = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "tests" / "support" / "cuda" / "shares.txt"


class Gpu:
    """A client's calls of CUDA: allocates, copies, exports."""

    def __init__(self):
        self.driver = ctypes.CDLL(str(DRIVER))
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, function, *arguments):
        code = getattr(self.driver, function)(*arguments)
        assert code == 0, f"{function}: {code}"

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def write(self, address, values):
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), values.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(values.nbytes))
        self.call("cuStreamSynchronize", None)

    def read(self, address, shape, dtype):
        values = np.empty(shape, dtype)
        self.call("cuMemcpyDtoH_v2", values.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(address),
                  ctypes.c_size_t(values.nbytes))
        return values

    def handle(self, address):
        handle = (ctypes.c_char * 64)()
        self.call("cuIpcGetMemHandle", handle, ctypes.c_uint64(address))
        return base64.b64encode(bytes(handle)).decode()


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setenv("RIDGE_CUDA", str(DRIVER))
    monkeypatch.setenv("RIDGE_FAKE_CUDA", str(SCRIPT))
    # A library with a sanitizer in it ends a python that has none.
    if subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(DRIVER)!r})"],
                      capture_output=True).returncode != 0:
        pytest.skip("this python cannot load the fake for the driver")
    return Gpu()


def test_a_client_s_tensors_stay_on_its_gpu(gpu, tmp_path):
    models.add_sub(tmp_path / "simple" / "1" / "model.onnx", "FP32")
    (tmp_path / "simple" / "config.pbtxt").write_text("max_batch_size: 8\n")
    first, second = np.arange(32, dtype=np.float32).reshape(2, 16), np.full((2, 16), 0.5, np.float32)
    size = first.nbytes
    inputs, outputs = gpu.allocate(2 * size), gpu.allocate(2 * size)
    gpu.write(inputs, first)
    gpu.write(inputs + size, second)
    with Server(tmp_path) as server, http.InferenceServerClient(f"127.0.0.1:{server.port}") as client:
        client.register_cuda_shared_memory("in", gpu.handle(inputs), 0, 2 * size)
        client.register_cuda_shared_memory("out", gpu.handle(outputs), 0, 2 * size)
        assert client.get_cuda_shared_memory_status() == [{"name": name, "device_id": 0, "byte_size": 2 * size}
                                                          for name in ("in", "out")]
        tensors = [http.InferInput(f"INPUT{i}", [2, 16], "FP32").set_shared_memory("in", size, i * size)
                   for i in (0, 1)]
        wanted = [http.InferRequestedOutput(f"OUTPUT{i}") for i in (0, 1)]
        for i, output in enumerate(wanted):
            output.set_shared_memory("out", size, i * size)
        client.infer("simple", tensors, outputs=wanted)
        assert (gpu.read(outputs, (2, 16), np.float32) == first + second).all()
        assert (gpu.read(outputs + size, (2, 16), np.float32) == first - second).all()

        with pytest.raises(InferenceServerException, match="already in manager"):
            client.register_cuda_shared_memory("in", gpu.handle(inputs), 0, size)
        with pytest.raises(InferenceServerException, match="has 256 bytes, 257 were requested"):
            client.register_cuda_shared_memory("more", gpu.handle(inputs), 0, 2 * size + 1)
        with pytest.raises(InferenceServerException, match="no CUDA device 1"):
            client.register_cuda_shared_memory("more", gpu.handle(inputs), 1, size)
        client.unregister_cuda_shared_memory("in")
        with pytest.raises(InferenceServerException, match="Unable to find shared memory region: 'in'"):
            client.infer("simple", tensors)
        client.unregister_cuda_shared_memory()
        assert client.get_cuda_shared_memory_status() == []
    gpu.free(inputs)
    gpu.free(outputs)


def test_strings_and_requests_that_meet_in_a_batch(gpu, tmp_path):
    models.identity(tmp_path / "text" / "1" / "model.onnx", "BYTES", ("batch", "n"))
    (tmp_path / "text" / "config.pbtxt").write_text("max_batch_size: 8\n"
                                                    "dynamic_batching { max_queue_delay_microseconds: 20000 }\n")
    texts = [np.array([[f"text {i}", "ü" * i]], np.object_) for i in range(4)]
    memory = gpu.allocate(1024)
    with Server(tmp_path) as server, http.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=4) as client:
        client.register_cuda_shared_memory("r", gpu.handle(memory), 0, 1024)
        waiting, sizes = [], []
        for i, values in enumerate(texts):
            block = np.frombuffer(serialize_byte_tensor(values).item(), np.uint8)
            sizes.append(len(block))
            gpu.write(memory + 128 * i, block)
            output = http.InferRequestedOutput("y")
            output.set_shared_memory("r", 128, 512 + 128 * i)
            waiting.append(client.async_infer("text",
                                              [http.InferInput("x", [1, 2],
                                                               "BYTES").set_shared_memory("r", len(block), 128 * i)],
                                              outputs=[output]))
        for i, request in enumerate(waiting):
            assert request.get_result().get_output("y")["shape"] == [1, 2]
            assert gpu.read(memory + 512 + 128 * i, sizes[i],
                            np.uint8).tobytes() == serialize_byte_tensor(texts[i]).item()
    gpu.free(memory)
