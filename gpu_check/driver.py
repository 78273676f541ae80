"""driver.py facts INDEX | exchange INDEX RIDGE MODEL: what the check asks NVIDIA's driver itself, apart from ridge. A
process of its own, which may hang.

facts: a GPU as the driver describes it, as JSON. Exit 3, with one sentence: there is no driver, or no such GPU.
exchange: serves MODEL (FP32, input x, output y, equal), writes numbers to memory of the GPU, which the server opens
(CUDA IPC), and compares.
"""

import base64
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

# cuda.h, CUdevice_attribute
ATTRIBUTES = {"multiprocessors": 16, "major": 75, "minor": 76}
REGION = 4 << 20  # [bytes] two smaller ones may lie in one block of the driver, which is what a handle names


class Driver:
    def __init__(self, index):
        self.name = os.environ.get("RIDGE_CUDA") or "libcuda.so.1"
        try:
            self.library = ctypes.CDLL(self.name)
        except OSError as error:
            sys.stderr.write(f"there is no driver: looked for {self.name} ({error})\n")
            sys.exit(3)
        count, self.device = ctypes.c_int(), ctypes.c_int()
        status = self.library.cuInit(0) or self.library.cuDeviceGetCount(ctypes.byref(count))
        if status or index >= count.value:
            sys.stderr.write(f"there is no GPU {index}: {self.name} answered {status}, and has {count.value}\n")
            sys.exit(3)
        self.call("cuDeviceGet", ctypes.byref(self.device), index)

    def call(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            sys.exit(f"{function}: CUDA error {status}")

    def attribute(self, name):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), ATTRIBUTES[name], self.device)
        return value.value

    def facts(self):
        name, uuid, address = (ctypes.create_string_buffer(size) for size in (256, 16, 32))
        memory = ctypes.c_size_t()
        self.call("cuDeviceGetPCIBusId", address, 32, self.device)
        self.call("cuDeviceGetName", name, 256, self.device)
        self.call("cuDeviceGetUuid", uuid, self.device)
        self.call("cuDeviceTotalMem_v2", ctypes.byref(memory), self.device)
        digits = uuid.raw.hex()
        parts = [digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]
        return {"name": name.value.decode(), "uuid": "GPU-" + "-".join(parts), "memory_total_bytes": memory.value,
                "pci_address": address.value.decode().lower(),
                "compute_capability": f"{self.attribute('major')}.{self.attribute('minor')}",
                "multiprocessors": self.attribute("multiprocessors")}


def handle(driver, address):
    data = (ctypes.c_char * 64)()
    driver.call("cuIpcGetMemHandle", data, address)
    return base64.b64encode(bytes(data)).decode()


def allocated(driver, size):
    address = ctypes.c_uint64()
    driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    return address


def wait_for(condition, server):
    """Returns what it says once that is no error; the server's end is one."""
    while True:
        try:
            return condition()
        except (OSError, ValueError):
            if server.poll() is not None:
                sys.exit(f"ridge serve ended with {server.returncode}")
            time.sleep(0.1)


def exchange(driver, index, server, file):
    port = wait_for(lambda: json.loads(file.read_text()), server)["http"]

    def ask(path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v2/{path}", data,
                                         {"Content-Type": "application/json"})
        return urllib.request.urlopen(request, timeout=30).read()

    wait_for(lambda: ask("health/ready"), server)
    context = ctypes.c_void_p()
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), driver.device)
    driver.call("cuCtxSetCurrent", context)
    sent, received = (ctypes.c_float * 64)(*range(64)), (ctypes.c_float * 64)()
    size = ctypes.c_size_t(ctypes.sizeof(sent))
    places = {name: allocated(driver, REGION) for name in "xy"}
    driver.call("cuMemcpyHtoD_v2", places["x"], sent, size)
    driver.call("cuStreamSynchronize", None)
    for name, address in places.items():
        ask(f"cudasharedmemory/region/{name}/register",
            {"raw_handle": {"b64": handle(driver, address)}, "device_id": index, "byte_size": size.value})
    shared = {name: {"shared_memory_region": name, "shared_memory_byte_size": size.value} for name in "xy"}
    ask("models/identity/infer",
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [4, 16], "parameters": shared["x"]}],
                                  "outputs": [{"name": "y", "parameters": shared["y"]}]})
    driver.call("cuMemcpyDtoH_v2", received, places["y"], size)
    driver.call("cuStreamSynchronize", None)
    wrong = sum(a != b for a, b in zip(sent, received, strict=True))
    print(json.dumps({"values": len(sent), "wrong": wrong}))


def main():
    verb, index = sys.argv[1], int(sys.argv[2])
    driver = Driver(index)
    if verb == "facts":
        return print(json.dumps(driver.facts()))
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "repo", "identity", "1", "model.onnx")
        model.parent.mkdir(parents=True)
        model.write_bytes(pathlib.Path(sys.argv[4]).read_bytes())
        file = pathlib.Path(folder, "port")
        with subprocess.Popen([sys.argv[3], "serve", str(model.parents[2]), "--http-port", "0", "--grpc-port", "0",
                               "--metrics-port", "0", "--port-file", str(file)],
                              stdout=subprocess.DEVNULL) as server:
            try:
                exchange(driver, index, server, file)
            except urllib.error.HTTPError as error:
                sys.exit(f"{error.url}: {error.read().decode(errors='replace')}")
            finally:
                server.kill()


if __name__ == "__main__":
    main()
