"""Unix sockets for HTTP, gRPC and metrics: curl and stock clients, permissions, what an ended server leaves behind,
local rights."""

import os
import signal
import socket
import stat
import subprocess

import grpc
import numpy
import pytest
import tritonclient.grpc as client_library

from server import RIDGE, Server, fp32

REQUEST = {"inputs": [fp32("x", [1, 16], [1.0] * 16)]}


def serve_on(folder, repository, *arguments, **options):
    return Server(repository, f"--http-address=unix:{folder}/http", f"--grpc-address=unix:{folder}/grpc", *arguments,
                  **options)


def test_clients_by_path_and_what_is_local(repository, tmp_path):
    access = tmp_path / "access"
    with serve_on(tmp_path, repository, f"--metrics-address=unix:{tmp_path}/metrics", "--model-control-mode=explicit",
                  "--load-model=identity", "--access-log", access) as server:
        assert server.ports == {name: f"unix:{tmp_path}/{name}" for name in ("http", "grpc", "metrics")}
        done = subprocess.run(["curl", "-sS", "-f", "--unix-socket", tmp_path / "http", "http://localhost/v2"],
                              capture_output=True, text=True)
        assert done.returncode == 0 and "system_shared_memory" in done.stdout, done.stderr
        assert server.infer("identity", REQUEST).status == 200
        assert server.post("/v2/repository/models/simple/load").status == 200  # as from this machine
        assert "nv_inference_count" in server.metrics()
        assert f"curl -s --unix-socket {tmp_path}/http localhost/v2/models/" in server.read_log()
        value = client_library.InferInput("x", [1, 16], "FP32")
        value.set_data_from_numpy(numpy.full((1, 16), 2, numpy.float32))
        with client_library.InferenceServerClient(f"unix:{tmp_path}/grpc") as client:
            assert client.infer("identity", [value]).as_numpy("y").sum() == 32
            client.unload_model("simple")
            assert client.get_system_shared_memory_status().regions == {}
        for name in ("http", "grpc", "metrics"):
            assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o660
    assert sorted(path.name for path in tmp_path.iterdir()) == ["access"]
    assert all(line.split()[1] == "unix" for line in access.read_text().splitlines())


def test_metrics_have_no_port_beside_a_path_unless_asked(repository, tmp_path):
    with serve_on(tmp_path, repository, "--unix-socket-mode=600") as server:
        assert set(server.ports) == {"http", "grpc"}
        assert "nv_inference_count" in server.get("/metrics").body.decode()
        assert stat.S_IMODE(os.stat(tmp_path / "grpc").st_mode) == 0o600


def test_what_a_killed_server_left_is_replaced_and_a_live_one_is_not(repository, tmp_path):
    with serve_on(tmp_path, repository, check_exit=False) as server:
        server.stop(signal.SIGKILL)
    assert (tmp_path / "http").is_socket() and (tmp_path / "grpc").is_socket()
    with serve_on(tmp_path, repository) as server:
        assert server.infer("identity", REQUEST).status == 200
        for option in ("--http-address", "--grpc-address"):
            second = subprocess.run([RIDGE, "serve", str(repository), "--allow-metrics=false", "--http-port=0",
                                     "--grpc-port=0", f"{option}=unix:{tmp_path}/http"],
                                    capture_output=True, text=True)
            assert second.returncode == 3 and "another program listens" in second.stderr
        assert server.infer("identity", REQUEST).status == 200
        with grpc.insecure_channel(f"unix:{tmp_path}/grpc") as channel:
            grpc.channel_ready_future(channel).result(timeout=30)


@pytest.mark.parametrize("address,text", [("unix:", "1 to 107 bytes"), ("unix:" + "p" * 108, "1 to 107 bytes"),
                                          ("unix:{}/file", "not a socket"),
                                          ("unix:/nowhere/socket", "/nowhere/socket"), ("a.b", "not an address")])
def test_addresses_that_cannot_be(repository, tmp_path, address, text):
    (tmp_path / "file").write_text("kept")
    for option in ("--http-address", "--grpc-address"):
        done = subprocess.run([RIDGE, "serve", str(repository), "--http-port=0", "--grpc-port=0", "--metrics-port=0",
                               f"{option}={address.format(tmp_path)}"],
                              capture_output=True, text=True)
        assert done.returncode == 3 and text in done.stderr
    assert (tmp_path / "file").read_text() == "kept"


def listening(family, address):
    made = socket.socket(family)
    made.bind(address)
    made.listen(16)
    return made


class Manager:
    """systemd's side: a socket for messages, and sockets to pass."""

    def __init__(self, folder):
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(60)

    def next(self, *, skip=b"WATCHDOG=1"):
        while (message := self.socket.recv(4096)) == skip:
            pass
        return dict(line.split("=", 1) for line in message.decode().splitlines())

    def start(self, repository, passed, *arguments, names=None, **environment):
        """`passed`: sockets by their names."""
        moves = " ".join(f"{3 + i}<&{each.fileno()}" for i, each in enumerate(passed.values()))
        variables = {"NOTIFY_SOCKET": self.path, "LISTEN_FDS": str(len(passed)),
                     "LISTEN_FDNAMES": names or ":".join(passed), **environment}
        return Server(repository, *arguments, environment=variables,
                      pass_fds=[each.fileno() for each in passed.values()],
                      wrapper=["bash", "-c", f'LISTEN_PID=$$ exec "$@" {moves}', "bash"])


def test_systemd_hears_of_each_state_and_passes_sockets(repository, tmp_path):
    manager = Manager(tmp_path)
    passed = {"grpc": listening(socket.AF_INET, ("127.0.0.1", 0)),
              "http": listening(socket.AF_UNIX, str(tmp_path / "http")),
              "metrics": listening(socket.AF_INET, ("127.0.0.1", 0))}
    with socket.socket(socket.AF_UNIX) as early:
        early.connect(str(tmp_path / "http"))  # before the server is there
        early.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: t\r\n\r\n")
        with manager.start(repository, passed) as server:
            assert server.ports == {"grpc": passed["grpc"].getsockname()[1], "http": f"unix:{tmp_path}/http",
                                    "metrics": passed["metrics"].getsockname()[1]}
            assert early.recv(15) == b"HTTP/1.1 200 OK"
            assert manager.next() == {"STATUS": "loading the models"}
            ready = manager.next()
            assert ready["READY"] == "1" and ready["STATUS"].endswith(" models ready")
            assert "nv_inference_count" in server.metrics()
            with client_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as client:
                assert client.is_server_ready()
        assert manager.next()["STOPPING"] == "1"
    assert (tmp_path / "http").is_socket()  # systemd's


def test_the_watchdog_hears_of_a_live_server(repository, tmp_path):
    manager = Manager(tmp_path)
    with manager.start(repository, {}, WATCHDOG_USEC="400000"):
        heard = [manager.socket.recv(4096) for _ in range(8)]
        assert heard.count(b"WATCHDOG=1") >= 5


def test_sockets_that_no_port_has_are_refused(repository, tmp_path):
    passed = {"http": listening(socket.AF_INET, ("127.0.0.1", 0))}
    with pytest.raises(AssertionError, match="FileDescriptorName=http, grpc or metrics"):
        Manager(tmp_path).start(repository, passed, names="ridge.socket")
    for name in ("http", "grpc", "metrics"):
        (tmp_path / "notify").unlink()
        with pytest.raises(AssertionError, match=f"socket with the name '{name}', but --allow-{name}=false"):
            Manager(tmp_path).start(repository, {name: listening(socket.AF_INET, ("127.0.0.1", 0))},
                                    f"--allow-{name}=false")
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    (tmp_path / "notify").unlink()
    with pytest.raises(AssertionError, match="ListenStream="):
        Manager(tmp_path).start(repository, {"grpc": datagrams})
