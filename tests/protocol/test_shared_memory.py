"""Contract section 13: tensors in shared memory, by the stock client and by raw requests. Triton's texts and codes
where it has some. ctest: timeout 300"""

import csv
import os
import pathlib
import socket
import subprocess
import threading

import numpy as np
import pytest
import tritonclient.http as http
import tritonclient.utils.shared_memory as shm
from server import Server, fp32
from tritonclient.utils import InferenceServerException, np_to_triton_dtype, serialize_byte_tensor

DEPS = pathlib.Path(os.environ.get("RIDGE_DEPS", pathlib.Path(__file__).resolve().parents[2] / ".deps"))
SYSTEM = "/v2/systemsharedmemory"


@pytest.fixture
def client(server):
    with http.InferenceServerClient(f"127.0.0.1:{server.port}") as stock:
        yield stock
        stock.unregister_system_shared_memory()


@pytest.fixture
def area():
    """Makes shared memory objects as clients do; gone at the end."""
    made = []

    def make(size):
        made.append(shm.create_shared_memory_region("unused", f"/ridge-protocol-{os.getpid()}-{len(made)}", size,
                                                    create_only=True))
        return made[-1]

    yield make
    for each in made:
        shm.destroy_shared_memory_region(each)


def key_of(handle):
    return handle._shm_key


def resize(handle, size):
    with open("/dev/shm" + key_of(handle), "r+b") as file:
        file.truncate(size)


def place(name, values, region, offset=0, size=None):
    tensor = http.InferInput(name, list(values.shape), np_to_triton_dtype(values.dtype))
    tensor.set_shared_memory(region, values.nbytes if size is None else size, offset)
    return tensor


def wanted(name, region, size, offset=0):
    output = http.InferRequestedOutput(name)
    output.set_shared_memory(region, size, offset)
    return output


def parameters(region, size, offset=None):
    return {"shared_memory_region": region, "shared_memory_byte_size": size,
            **({} if offset is None else {"shared_memory_offset": offset})}


def x_in(region, size=64, offset=None, shape=(1, 16), datatype="FP32"):
    return {"name": "x", "shape": list(shape), "datatype": datatype, "parameters": parameters(region, size, offset)}


def register(server, name, handle, size, offset=0):
    return server.post(f"{SYSTEM}/region/{name}/register", {"key": key_of(handle), "offset": offset, "byte_size": size})


def test_the_stock_client_s_whole_way(client, area):
    region = area(256)
    first, second = np.arange(16, dtype=np.int32).reshape(1, 16), np.full((1, 16), 3, np.int32)
    shm.set_shared_memory_region(region, [first, second])
    client.register_system_shared_memory("both", key_of(region), 256)
    assert client.get_system_shared_memory_status("both") == [{"name": "both", "key": key_of(region), "offset": 0,
                                                               "byte_size": 256}]
    result = client.infer("simple", [place("INPUT0", first, "both"), place("INPUT1", second, "both", 64)],
                          outputs=[wanted("OUTPUT0", "both", 64, 128), wanted("OUTPUT1", "both", 64, 192)])
    assert (shm.get_contents_as_numpy(region, np.int32, [1, 16], 128) == first + second).all()
    assert (shm.get_contents_as_numpy(region, np.int32, [1, 16], 192) == first - second).all()
    for output in result.get_response()["outputs"]:
        assert output["shape"] == [1, 16] and output["datatype"] == "INT32" and output.keys() == {
            "name", "shape", "datatype"
        }
    client.unregister_system_shared_memory("both")
    assert client.get_system_shared_memory_status() == []
    with pytest.raises(InferenceServerException, match="Unable to find shared memory region: 'both'"):
        client.infer("simple", [place("INPUT0", first, "both"), place("INPUT1", second, "both", 64)])


def test_a_region_may_begin_at_any_byte_of_its_object(client, area):
    values = np.random.default_rng(0).normal(size=(2, 16)).astype(np.float32)
    region = area(10_000)
    shm.set_shared_memory_region(region, [values], 4100 + 20)
    client.register_system_shared_memory("r", key_of(region), 2000, offset=4100)
    result = client.infer("identity", [place("x", values, "r", 20)])
    assert (result.as_numpy("y") == values).all()


def test_memory_and_body_mix_freely(server, client, area):
    region = area(128)
    values = np.ones((1, 16), np.int32)
    shm.set_shared_memory_region(region, [values])
    client.register_system_shared_memory("r", key_of(region), 128)
    other = http.InferInput("INPUT1", [1, 16], "INT32")
    other.set_data_from_numpy(values)
    result = client.infer("simple", [place("INPUT0", values, "r"), other],
                          outputs=[wanted("OUTPUT1", "r", 64, 64), http.InferRequestedOutput("OUTPUT0")])
    assert (result.as_numpy("OUTPUT0") == 2).all()
    assert (shm.get_contents_as_numpy(region, np.int32, [1, 16], 64) == 0).all()
    answer = server.infer("identity", {"inputs": [fp32("x", [1, 16], [0.5] * 16)],
                                       "outputs": [{"name": "y", "parameters": parameters("r", 64)}]})
    assert answer.status == 200 and answer.json()["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [1, 16]}]
    assert (shm.get_contents_as_numpy(region, np.float32, [16]) == 0.5).all()


def test_strings(client, area):
    values = np.array([["a", "ü", ""]], np.object_)
    block = serialize_byte_tensor(values)
    region = area(512)
    shm.set_shared_memory_region(region, [block])
    client.register_system_shared_memory("r", key_of(region), 512)
    size = len(block.item())
    tensor = http.InferInput("x", [1, 3], "BYTES").set_shared_memory("r", size)
    client.infer("identity_bytes", [tensor], outputs=[wanted("y", "r", 200, 256)])
    assert [text.decode() for text in shm.get_contents_as_numpy(region, np.object_, [1, 3], 256)[0]] == ["a", "ü", ""]
    with pytest.raises(InferenceServerException, match="should be at least"):
        client.infer("identity_bytes", [tensor], outputs=[wanted("y", "r", size - 1, 256)])
    with pytest.raises(InferenceServerException, match="'x'"):
        client.infer("identity_bytes", [http.InferInput("x", [1, 3], "BYTES").set_shared_memory("r", size - 1)])


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16, np.float64])
def test_types_whether_read_in_place_or_copied(client, area, dtype):
    values = np.array([[0, 1, 1, 0]], dtype)
    region = area(64)
    shm.set_shared_memory_region(region, [values])
    client.register_system_shared_memory("r", key_of(region), 64)
    client.infer(f"identity_{np_to_triton_dtype(values.dtype).lower()}", [place("x", values, "r")],
                 outputs=[wanted("y", "r", values.nbytes, 32)])
    assert (shm.get_contents_as_numpy(region, dtype, [1, 4], 32) == values).all()


def test_requests_at_the_same_time_keep_their_parts_apart(client, server, area):
    count = 8
    region = area(count * 128)
    client.register_system_shared_memory("r", key_of(region), count * 128)
    for i in range(count):
        shm.set_shared_memory_region(region, [np.full((1, 16), i, np.float32)], i * 128)
    wrong = []

    def ask(i):
        for _ in range(20):
            answer = server.infer("identity",
                                  {"inputs": [x_in("r", offset=i * 128)],
                                   "outputs": [{"name": "y", "parameters": parameters("r", 64, i * 128 + 64)}]})
            if answer.status != 200 or not (shm.get_contents_as_numpy(region, np.float32, [16], i * 128 + 64)
                                            == i).all():
                wrong.append((i, answer))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_name_is_registered_once(server, client, area):
    region = area(64)
    client.register_system_shared_memory("r", key_of(region), 64)
    answer = register(server, "r", region, 32)
    assert answer.status == 400 and "already in manager" in answer.json()["error"]
    client.unregister_system_shared_memory("r")
    client.unregister_system_shared_memory("r")
    assert register(server, "r", region, 32).status == 200


@pytest.mark.parametrize("key", ["", "/", ".", "/..", "/../../etc/passwd", "../shm/x", "/a/b", "//a", "k" * 300, "\0",
                                 "/sem.x", "/triton_python_backend_shm_region_0"])
def test_keys_that_lead_elsewhere_are_refused(server, key):
    answer = server.post(f"{SYSTEM}/region/r/register", {"key": key, "offset": 0, "byte_size": 8})
    assert answer.status == 400 and "key" in answer.json()["error"]


def test_links_and_folders_are_not_followed(server):
    link = pathlib.Path("/dev/shm") / f"ridge-protocol-link-{os.getpid()}"
    folder = pathlib.Path("/dev/shm") / f"ridge-protocol-folder-{os.getpid()}"
    link.symlink_to("/etc/hostname")
    folder.mkdir()
    try:
        for path in (link, folder):
            assert server.post(f"{SYSTEM}/region/r/register",
                               {"key": "/" + path.name, "offset": 0, "byte_size": 1}).status == 400
    finally:
        link.unlink()
        folder.rmdir()


@pytest.mark.parametrize("offset,size", [(0, 65), (65, 1), (2**64 - 1, 2), (2, 2**64 - 1), (0, 0), (0, 2**62)])
def test_sizes_beyond_the_object_are_refused(server, area, offset, size):
    assert register(server, "r", area(64), size, offset).status == 400


def test_objects_that_are_not_there_and_bodies_that_say_nothing_are_refused(server):
    assert "Unable to open shared memory region: '/ridge-nothing'" in server.post(
        f"{SYSTEM}/region/r/register", {"key": "/ridge-nothing", "offset": 0, "byte_size": 8}).json()["error"]
    for body in ("", "[]", "{", {"key": "/k"}, {"byte_size": 1}, {"key": 1, "byte_size": 1},
                 {"key": "/k", "byte_size": "8"}):
        assert server.post(f"{SYSTEM}/region/r/register", body).status == 400
    assert server.post(f"{SYSTEM}/register", {"key": "/k", "byte_size": 1}).status == 400
    assert server.get(f"{SYSTEM}/region/r/status").status == 404
    assert server.get(f"{SYSTEM}/region/r/register").status == 405


@pytest.mark.parametrize("tensor", [
    x_in("r", 60), x_in("r", 68), x_in("r", 64, 65), x_in("r", 64, 2**63 - 1), x_in("r", 2**63 - 1, 1), x_in("r", 0),
    x_in("s"),
    {**x_in("r"), "data": [0] * 16},
    {"name": "x", "shape": [1, 16], "datatype": "FP32", "parameters": {"shared_memory_region": "r"}},
    {"name": "x", "shape": [1, 16], "datatype": "FP32", "parameters": {"shared_memory_byte_size": 64}},
    x_in("r", -1), x_in("r", "64"), x_in("r", 64, -1), x_in(7), x_in("r", 64, shape=(2**32, 2**32)),
    x_in("r", 64, shape=(1, 2**61))])
def test_inputs_that_do_not_fit_are_refused(server, area, tensor):
    register(server, "r", area(128), 128)
    answer = server.infer("identity", {"inputs": [tensor]})
    assert answer.status == (404 if tensor["parameters"].get("shared_memory_region") == "s" else 400), answer
    assert "'x'" in answer.json()["error"]
    server.post(f"{SYSTEM}/unregister")


@pytest.mark.parametrize("asked",
                         [parameters("r", 63), parameters("r", 64, 65), parameters("r", 129), parameters("s", 64),
                                   {**parameters("r", 64), "binary_data": True}, {"shared_memory_region": "r"}])
def test_outputs_that_do_not_fit_are_refused_and_nothing_is_written(server, area, asked):
    region = area(128)
    register(server, "r", region, 128)
    answer = server.infer("identity",
                          {"inputs": [fp32("x", [1, 16], [7] * 16)], "outputs": [{"name": "y", "parameters": asked}]})
    assert answer.status in (400, 404) and "'y'" in answer.json()["error"], answer
    assert (shm.get_contents_as_numpy(region, np.float32, [32]) == 0).all()
    server.post(f"{SYSTEM}/unregister")


def test_classes_are_not_written_to_memory(server, area):
    register(server, "r", area(128), 128)
    answer = server.infer("classes", {"inputs": [fp32("x", [1, 4], [1, 2, 3, 4])],
                                      "outputs": [{"name": "y",
                                                   "parameters": {**parameters("r", 128), "classification": 1}}]})
    assert answer.status == 400 and "classification" in answer.json()["error"]
    server.post(f"{SYSTEM}/unregister")


def test_an_object_that_is_made_smaller_hurts_its_own_requests_only(server, client, area):
    region, other = area(1 << 20), area(64)
    client.register_system_shared_memory("r", key_of(region), 1 << 20)
    client.register_system_shared_memory("other", key_of(other), 64)
    request = {"inputs": [x_in("r", 1 << 20, datatype="UINT8", shape=(1, 1 << 20))], "outputs": [{"name": "y"}]}
    assert server.infer("identity_uint8", {"inputs": [x_in("r", 4, datatype="UINT8", shape=(1, 4))]}).status == 200
    stop = threading.Event()

    def shrink_and_grow():
        while not stop.is_set():
            resize(region, 0)
            resize(region, 1 << 20)

    shrinking = threading.Thread(target=shrink_and_grow)
    shrinking.start()
    try:
        for _ in range(60):
            answer = server.infer("identity_uint8", request | {"parameters": {"binary_data_output": True}})
            assert answer.status == 200 or "region 'r'" in answer.json()["error"], answer
            if answer.status != 200 and "went away" in answer.json()["error"]:
                client.unregister_system_shared_memory("r")
                while register(server, "r", region, 1 << 20).status != 200:  # it is small just now
                    pass
            assert server.infer("identity", {"inputs": [x_in("other")]}).status == 200
    finally:
        stop.set()
        shrinking.join()
    resize(region, 0)
    assert server.infer("identity_uint8", request).status in (400, 404)
    resize(region, 1 << 20)  # destroying it touches it
    assert server.get("/v2/health/ready").status == 200


def test_regions_outlive_loads_and_the_unlinking_of_their_object(repository, area):
    with Server(repository, "--model-control-mode=explicit", "--load-model=identity") as own:
        region = area(64)
        shm.set_shared_memory_region(region, [np.full((1, 16), 4, np.float32)])
        assert register(own, "r", region, 64).status == 200
        os.rename("/dev/shm" + key_of(region), "/dev/shm" + key_of(region) + "-elsewhere")
        try:
            assert own.post("/v2/repository/models/identity/load").status == 200
            assert own.infer("identity", {"inputs": [x_in("r")]}).json()["outputs"][0]["data"] == [4] * 16
        finally:
            os.rename("/dev/shm" + key_of(region) + "-elsewhere", "/dev/shm" + key_of(region))


def test_it_can_be_forbidden(repository, area):
    with Server(repository, "--allow-client-shm=false", "--model-control-mode=explicit",
                "--load-model=identity") as closed:
        assert "system_shared_memory" not in closed.get("/v2").json()["extensions"]
        for answer in (register(closed, "r", area(64), 64), closed.post(f"{SYSTEM}/unregister"),
                       closed.infer("identity", {"inputs": [x_in("r")]})):
            assert answer.status == 501 and "--allow-client-shm" in answer.json()["error"]


def own_address():
    """Address of this machine in its network; None where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of documentation: nothing is sent
        except OSError:
            return None
        return None if probe.getsockname()[0].startswith("127.") else probe.getsockname()[0]


def test_clients_of_the_network_have_no_part_in_it(server, client, area):
    address = own_address()
    if address is None:
        pytest.skip("this machine has no address but localhost")
    client.register_system_shared_memory("r", key_of(area(64)), 64)
    with http.InferenceServerClient(f"{address}:{server.port}") as distant:
        assert not [name for name in distant.get_server_metadata()["extensions"] if "shared_memory" in name]
        for call in (distant.get_system_shared_memory_status, distant.unregister_system_shared_memory,
                     distant.unregister_cuda_shared_memory,
                     lambda: distant.register_system_shared_memory("s", "/s", 64),
                     lambda: distant.infer("identity", [place("x", np.zeros((1, 16), np.float32), "r")])):
            with pytest.raises(InferenceServerException, match="--allow-client-shm=true"):
                call()
    assert len(client.get_system_shared_memory_status()) == 1


def test_it_can_be_opened_to_all(repository, area):
    address = own_address()
    if address is None:
        pytest.skip("this machine has no address but localhost")
    with Server(repository, "--allow-client-shm=true", "--model-control-mode=explicit", "--load-model=identity") as own:
        with http.InferenceServerClient(f"{address}:{own.port}") as distant:
            distant.register_system_shared_memory("r", key_of(area(64)), 64)
            assert (distant.infer("identity", [place("x", np.zeros((1, 16), np.float32), "r")]).as_numpy("y")
                    == 0).all()


def test_memory_of_gpus_without_a_gpu(server, client):
    assert client.get_cuda_shared_memory_status() == []
    client.unregister_cuda_shared_memory()
    client.unregister_cuda_shared_memory("r")
    with pytest.raises(InferenceServerException, match="failed to register CUDA shared memory region: 'r'"):
        client.register_cuda_shared_memory("r", "A" * 84 + "AA==", 0, 64)
    with pytest.raises(InferenceServerException, match="raw_handle"):
        client.register_cuda_shared_memory("r", "AAAA", 0, 64)


@pytest.mark.parametrize("model", ["identity", "simple"])
def test_perf_analyzer_sends_by_shared_memory(server, model, tmp_path):
    perf_analyzer = DEPS / "perf_analyzer" / "perf_analyzer"
    if not perf_analyzer.exists():
        pytest.fail(f"{perf_analyzer} is missing; ./dev setup installs it")
    report = tmp_path / "report.csv"
    run = subprocess.run(
        [perf_analyzer, "-m", model, "-u", f"127.0.0.1:{server.port}", "-i", "http", "-b", "1", "--concurrency-range",
         "2", "--shared-memory", "system",
         "--measurement-mode", "count_windows", "--measurement-request-count", "500", "-s", "999", "-r", "10", "-f",
         report],
        capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert float(next(csv.DictReader(report.open()))["Inferences/Second"]) > 0
    assert server.get(f"{SYSTEM}/status").json() == []
