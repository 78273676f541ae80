"""Starts the real `ridge serve` on free ports and speaks raw HTTP/1.1 to it, so that tests see every byte."""

import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile
import time

RIDGE = os.environ.get("RIDGE", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "ridge"))


def wait_until(condition, seconds=60):
    """Returns once that is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.02)


class Answer:
    def __init__(self, status, headers, body, reason=""):
        self.status, self.headers, self.body, self.reason = status, headers, body, reason

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"Answer({self.status}, {self.headers}, {self.body[:300]!r})"


class Connection:
    """One connection, to a port or to "unix:PATH", by TLS if a context for it is given; send bytes, read answers one at
    a time."""

    def __init__(self, port, timeout=30, tls=None):
        if isinstance(port, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(port.removeprefix("unix:"))
        else:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.buffer = bytearray()  # of bytes each answer of megabytes would be copied a thousand times

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def _fill(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise EOFError(f"closed by the server with {self.buffer[:200]!r} unread")
        self.buffer += got

    def _until(self, mark):
        while mark not in self.buffer:
            self._fill()
        head = self._exactly(self.buffer.index(mark))
        del self.buffer[: len(mark)]
        return head

    def _exactly(self, count):
        while len(self.buffer) < count:
            self._fill()
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def deliver(self, data):
        """Sends less than a packet and returns once the server has taken it in: it comes behind a request that is
        answered at once."""
        self.send(message("GET", "/v2/health/live") + (data if isinstance(data, bytes) else data.encode()))
        assert self.read().status == 200

    def read(self, head=False):
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, reason = (lines[0].split(" ", 2) + [""])[:3]
        assert version in ("HTTP/1.1", "HTTP/1.0"), lines[0]
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers[name.strip().lower()] = value.strip()
        status = int(status)
        if head or status in (100, 204, 304):
            return Answer(status, headers, b"", reason)
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(self._until(b"\r\n").split(b";")[0], 16):
                body += self._exactly(size)
                assert self._exactly(2) == b"\r\n"
            self._until(b"\r\n")
        else:
            assert "content-length" in headers, f"neither Content-Length nor chunked: {lines}"
            body = self._exactly(int(headers["content-length"]))
        return Answer(status, headers, body, reason)

    def silent(self):
        """True if no byte of an answer is there yet."""
        return not self.buffer and not select.select([self.socket], [], [], 0)[0]

    def closed_by_server(self, within=30):
        """True if the server ends the connection within that many seconds without sending more."""
        self.socket.settimeout(within)
        try:
            return self.buffer == b"" and self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def message(method, path, body=b"", headers=(), version="HTTP/1.1"):
    """The bytes of a request; Content-Length is added for a body unless `headers` frames it."""
    headers = dict(headers)
    if isinstance(body, str):
        body = body.encode()
    names = {name.lower() for name in headers}
    if (body or method == "POST") and not names & {"content-length", "transfer-encoding"}:
        headers["Content-Length"] = str(len(body))
    lines = [f"{method} {path} {version}", "Host: localhost"] + [f"{n}: {v}" for n, v in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Server:
    """A running `ridge serve`. Use as a context manager; leaving it stops the process by SIGTERM and checks exit 0."""

    def __init__(self, repository, *arguments, wait_ready=True, environment=None, check_exit=True, wrapper=(),
                 log_to=None, tls=None, pass_fds=()):
        self.tls = tls  # how to connect; None: plain
        self.folder = tempfile.TemporaryDirectory()
        self.port_file = pathlib.Path(self.folder.name) / "ports"
        self.log_path = pathlib.Path(self.folder.name) / "log"
        self.check_exit = check_exit
        self.log = open(self.log_path, "wb")
        # PIPE-less: a full pipe must never block the server under test.
        self.process = subprocess.Popen(
            [*wrapper, RIDGE, "serve", str(repository), "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0",
             "--port-file", str(self.port_file), "--drain-secs=0", *map(str, arguments)],
            stdout=self.log, stderr=self.log if log_to is None else log_to, env={**os.environ, **(environment or {})},
            pass_fds=pass_fds)
        try:
            self.ports = self._wait_ports()
            self.port = self.ports["http"]
            if wait_ready:
                self.wait_ready()
        except BaseException:  # __exit__ will not be called
            self.process.kill()
            self.process.wait()
            raise

    def _wait_ports(self):
        for _ in range(1200):
            if self.port_file.exists() and self.port_file.read_text().strip():
                return json.loads(self.port_file.read_text())
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"the server wrote no port file (status {self.process.poll()}):\n{self.read_log()}")

    def wait_ready(self, seconds=120):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.read_log()}")
            if self.get("/v2/health/ready").status == 200:
                return
            time.sleep(0.02)
        raise AssertionError(f"not ready within {seconds} s:\n{self.read_log()}")

    def wait_loaded(self, seconds=60):
        """The index as {name: entry}, once every model of the repository is loaded or could not be."""
        deadline = time.monotonic() + seconds
        while True:
            index = {entry["name"]: entry for entry in self.post("/v2/repository/index").json()}
            if index and all(entry.get("state") not in (None, "LOADING") for entry in index.values()):
                return index
            assert time.monotonic() < deadline, f"still being loaded after {seconds} s: {index}"
            time.sleep(0.05)

    def wait_log(self, text, seconds=60):
        """Returns once the log has that text."""
        deadline = time.monotonic() + seconds
        while text not in self.read_log():
            assert time.monotonic() < deadline, f"no '{text}' within {seconds} s:\n{self.read_log()}"
            time.sleep(0.02)

    def read_log(self):
        return self.log_path.read_text(errors="replace")

    def connect(self, timeout=30):
        return Connection(self.port, timeout, self.tls)

    def request(self, method, path, body=b"", headers=(), port=None):
        with Connection(port or self.port, tls=self.tls) as connection:
            connection.send(message(method, path, body, headers))
            return connection.read(head=method == "HEAD")

    def get(self, path, headers=(), port=None):
        return self.request("GET", path, headers=headers, port=port)

    def post(self, path, body=b"", headers=()):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        return self.request("POST", path, body, headers)

    def infer(self, model, request, headers=(), version=None):
        where = f"/v2/models/{model}" + (f"/versions/{version}" if version else "")
        return self.post(where + "/infer", request, headers)

    def statistics(self, model):
        return self.get(f"/v2/models/{model}/stats").json()["model_stats"][0]

    def metrics(self, headers=()):
        return self.get("/metrics", headers, port=self.ports["metrics"]).body.decode()

    def stop(self, sig=signal.SIGTERM, seconds=60):
        self.process.send_signal(sig)
        return self.process.wait(seconds)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if self.process.poll() is None:
                status = self.stop()
                assert not self.check_exit or kind or status == 0, f"exit status {status}:\n{self.read_log()}"
            elif self.check_exit and not kind:
                assert self.process.returncode == 0, f"died with {self.process.returncode}:\n{self.read_log()}"
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.log.close()
            self.folder.cleanup()


def in_order_of_arrival(connections):
    """One answer of each connection, as (index, answer), in the order in which they come."""
    waiting = {connection.socket: index for index, connection in enumerate(connections)}
    arrived = []
    while waiting:
        for ready in select.select(list(waiting), [], [], 60)[0] or [None]:
            assert ready, f"no answer within a minute on {list(waiting.values())}"
            index = waiting.pop(ready)
            arrived.append((index, connections[index].read()))
    return arrived


def fp32(name, shape, values):
    return {"name": name, "shape": shape, "datatype": "FP32", "data": values}


def binary(header, *blobs):
    """(body, headers) of a binary request."""
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return text + b"".join(blobs), {"Inference-Header-Content-Length": str(len(text)),
                                    "Content-Type": "application/octet-stream"}


def split_binary(answer):
    """A binary answer as (JSON, {output name: bytes}); checks that sizes and order fit exactly."""
    length = int(answer.headers["inference-header-content-length"])
    head, rest = json.loads(answer.body[:length]), answer.body[length:]
    blobs = {}
    for output in head["outputs"]:
        size = output.get("parameters", {}).get("binary_data_size")
        if size is not None:
            assert "data" not in output
            blobs[output["name"]], rest = rest[:size], rest[size:]
            assert len(blobs[output["name"]]) == size
    assert rest == b"", "bytes are left after the last blob"
    return head, blobs
