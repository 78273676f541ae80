"""TLS, mutual TLS and keys of clients, over HTTP and gRPC, with stock clients; certificates are made here."""

# ctest: timeout 300
import concurrent.futures
import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading

import gevent.ssl
import grpc
import numpy
import pytest
import tritonclient.grpc as grpc_library
import tritonclient.http as http_library
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

import models
from server import RIDGE, Connection, Server, binary, fp32, message, split_binary, wait_until

Code = grpc.StatusCode
INFERENCE, CONTROL, METRICS = "key-of-inference-7d1f", "key-of-control-93b2", "key-of-metrics-e5a8"
ROW = numpy.arange(16, dtype=numpy.float32).reshape(1, 16)
REQUEST = {"inputs": [fp32("x", [1, 16], ROW[0].tolist())]}


class Authority:
    """Issues certificates into a folder."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name, self.certificate = folder, name, folder / f"{name}.pem"
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key(name), "-out",
                      self.certificate, "-subj", f"/CN={name}", "-days", "2")

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    def key(self, name):
        return self.folder / f"{name}.key"

    def issue(self, name, days=2, serial=1):
        """NAME.pem and NAME.key; their paths."""
        request, certificate = self.folder / f"{name}.csr", self.folder / f"{name}.pem"
        extensions = self.folder / "extensions"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                      self.key(name), "-out", request, "-subj", f"/CN={name}")
        self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key(self.name),
                      "-set_serial", serial, "-days", days, "-extfile", extensions, "-out", certificate)
        return certificate, self.key(name)

    def context(self, *client):
        """Trusts this authority; with a client's certificate and key."""
        made = ssl.create_default_context(cafile=str(self.certificate))
        if client:
            made.load_cert_chain(*map(str, client))
        return made

    def credentials(self, *client):
        chain, key = [path.read_bytes() for path in client] or (None, None)
        return grpc.ssl_channel_credentials(self.certificate.read_bytes(), key, chain)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def pair(authority):
    return authority.issue("server")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    models.identity(root / "identity" / "1" / "model.onnx")
    models.identity(root / "wide" / "1" / "model.onnx", "FP32", ("batch", "n"))
    return root


def write_keys(file, *lines):
    next_file = file.with_name(file.name + ".next")
    next_file.write_text("\n".join(lines) + "\n")
    next_file.chmod(0o600)
    next_file.rename(file)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    file = tmp_path_factory.mktemp("keys") / "keys"
    write_keys(file, "# groups  key", f"inference  {INFERENCE}", f"control  {CONTROL}", f"metrics  {METRICS}")
    return file


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def secure(folder, authority, pair):
    with Server(folder, "--tls-cert", pair[0], "--tls-key", pair[1], "--http-request-timeout-secs", "2",
                tls=authority.context()) as running:
        yield running


@pytest.fixture(scope="module")
def keyed(folder, keys):
    with Server(folder, "--model-control-mode", "explicit", "--load-model", "*", "--keys", keys, "--log-verbose",
                "1") as running:
        yield running


def tensor(library, rows=ROW):
    made = library.InferInput("x", list(rows.shape), "FP32")
    made.set_data_from_numpy(rows)
    return [made]


def triton_http(port, ca, *client):
    options = {"ca_certs": str(ca)}
    if client:
        options |= {"certfile": str(client[0]), "keyfile": str(client[1])}
    return http_library.InferenceServerClient(f"localhost:{port}", ssl=True, ssl_options=options,
                                              ssl_context_factory=gevent.ssl.create_default_context)


def triton_grpc(port, ca, *client):
    files = {"certificate_chain": str(client[0]), "private_key": str(client[1])} if client else {}
    return grpc_library.InferenceServerClient(f"localhost:{port}", ssl=True, root_certificates=str(ca), **files)


def connects(context, port):
    """True if a request is taken."""
    try:
        # With TLS 1.3 a client learns of its refusal by its first read
        with Connection(port, tls=context) as connection:
            connection.send(message("GET", "/v2/health/live"))
            return connection.read().status != 503
    except (ssl.SSLError, ConnectionError, EOFError):
        return False


# ---- TLS


def test_curl_and_tritonclient_over_tls(secure, authority):
    url = f"https://localhost:{secure.port}/v2/models/identity/infer"
    done = subprocess.run(["curl", "-sS", "--cacert", authority.certificate, url, "-d", json.dumps(REQUEST)],
                          capture_output=True, check=True)
    assert json.loads(done.stdout)["outputs"][0]["data"] == ROW[0].tolist()
    untrusted = subprocess.run(["curl", "-sS", url], capture_output=True)
    assert untrusted.returncode == 60
    with triton_http(secure.port, authority.certificate) as client:
        assert (client.infer("identity", tensor(http_library)).as_numpy("y") == ROW).all()
    with triton_grpc(secure.ports["grpc"], authority.certificate) as client:
        assert (client.infer("identity", tensor(grpc_library)).as_numpy("y") == ROW).all()
    assert "nv_inference_count" in secure.metrics()


def test_large_bodies_and_answers_over_tls(secure):
    # 16 MiB: many records, and sockets that fill
    rows = numpy.random.default_rng(1).random((4, 1 << 20), dtype=numpy.float32)
    rows_name = {"name": "x", "shape": list(rows.shape), "datatype": "FP32",
                 "parameters": {"binary_data_size": rows.nbytes}}
    body, headers = binary({"inputs": [rows_name], "outputs": [{"name": "y", "parameters": {"binary_data": True}}]},
                           rows.tobytes())
    with secure.connect() as connection:
        for _ in range(2):
            connection.send(message("POST", "/v2/models/wide/infer", body, headers))
            answer = connection.read()
            assert answer.status == 200, answer
            assert split_binary(answer)[1]["y"] == rows.tobytes()


def test_pipelined_and_slowly_sent_requests_over_tls(secure):
    request = message("POST", "/v2/models/identity/infer", json.dumps(REQUEST))
    with secure.connect() as connection:
        connection.send(request * 50)
        for _ in range(50):
            assert connection.read().status == 200
        for i in range(0, len(request), 7):  # a record each
            connection.send(request[i : i + 7])
        assert connection.read().json()["outputs"][0]["data"] == ROW[0].tolist()
        connection.send(message("GET", "/v2/health/live", headers={"Connection": "close"}))
        assert connection.read().status == 200
        assert connection.socket.recv(1) == b""  # ended by close_notify: a cut would be an error


@pytest.mark.parametrize("version, speaks", [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True),
                                             (ssl.TLSVersion.TLSv1_3, True)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_versions_of_tls(secure, authority, version, speaks):
    for port in (secure.port, secure.ports["metrics"]):
        context = authority.context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
        try:
            with Connection(port, tls=context) as connection:
                assert connection.socket.version() == version.name.replace("_", ".")
            assert speaks
        except ssl.SSLError:
            assert not speaks


def test_plain_http_to_a_port_with_tls_is_told_so(secure):
    for _ in range(3):
        with Connection(secure.port) as connection:
            connection.send(message("GET", "/v2/health/live"))
            answer = connection.read()
            assert answer.status == 400 and "https://" in answer.json()["error"]
            assert connection.closed_by_server()
    assert secure.read_log().count("spoke plain HTTP") == 1
    with Connection(secure.ports["grpc"]) as connection:
        connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert connection.closed_by_server()
    with Connection(secure.port) as connection:
        connection.send(b"\x00\x01\x02 neither of them")
        assert connection.closed_by_server()


def test_tls_to_a_plain_port_is_refused_at_once(keyed, authority):
    for _ in range(3):
        with pytest.raises(ssl.SSLError):
            Connection(keyed.port, tls=authority.context())
    assert keyed.read_log().count("spoke TLS") == 1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Connection(keyed.ports["grpc"], tls=authority.context())


def test_a_handshake_that_does_not_end_is_cut_off_and_holds_up_no_other(secure):
    hello = client_hello()
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(Connection(port)) for port in secure.ports.values() for _ in range(3)]
        halfway = [stack.enter_context(Connection(port)) for port in secure.ports.values()]
        for connection in halfway:
            connection.send(hello[: len(hello) // 2])
        assert secure.infer("identity", REQUEST).status == 200
        for connection in silent + halfway:
            connection.socket.settimeout(60)
            with contextlib.suppress(ConnectionError):
                while connection.socket.recv(4096):
                    pass


def client_hello():
    """First bytes of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_connections_in_handshakes_count(folder, authority, pair):
    with Server(folder, "--tls-cert", pair[0], "--tls-key", pair[1], "--http-max-connections", "2",
                tls=authority.context()) as running:

        def is_refused_beside_two():
            with Connection(running.port), Connection(running.port):
                return not connects(authority.context(), running.port)

        # An earlier connection may still be ending, and one of the two was refused in its place
        wait_until(is_refused_beside_two)
        wait_until(lambda: connects(authority.context(), running.port))


# ---- mutual TLS


def test_with_an_authority_of_clients_they_need_a_certificate(folder, authority, pair, tmp_path):
    client, stranger = authority.issue("client"), Authority(tmp_path, "other").issue("stranger")
    arguments = ["--tls-cert", pair[0], "--tls-key", pair[1], "--tls-client-ca", authority.certificate]
    with Server(folder, *arguments, tls=authority.context(*client)) as running:
        for port in (running.port, running.ports["metrics"]):
            assert connects(authority.context(*client), port)
            assert not connects(authority.context(), port)
            assert not connects(authority.context(*stranger), port)
        with triton_http(running.port, authority.certificate, *client) as library:
            assert (library.infer("identity", tensor(http_library)).as_numpy("y") == ROW).all()
        with triton_grpc(running.ports["grpc"], authority.certificate, *client) as library:
            assert (library.infer("identity", tensor(grpc_library)).as_numpy("y") == ROW).all()
        for other in ((), stranger):
            with triton_grpc(running.ports["grpc"], authority.certificate, *other) as library:
                with pytest.raises(InferenceServerException) as error:
                    library.is_server_live()
                assert error.value.status() == "StatusCode.UNAVAILABLE"
        assert running.read_log().count("TLS handshake with a client failed") == 3  # once a port


# ---- bad files


@pytest.mark.parametrize("files, says", [
    (("none.pem", "server.key"), "No such file"),
    (("server.key", "server.key"), "no certificate"),
    (("server.pem", "server.pem"), "no private key"),
    (("server.pem", "other.key"), "not that of"),
    (("expired.pem", "expired.key"), "expired"),
    (("server.pem", "encrypted.key"), "encrypted"),
    (("server.pem", "server.key", "server.key"), "--tls-client-ca"),
])
def test_unusable_files_are_refused_at_the_start(folder, authority, pair, files, says):
    authority.issue("other"), authority.issue("expired", days=-1)
    encrypted = authority.key("encrypted")
    subprocess.run(["openssl", "pkey", "-in", pair[1], "-aes128", "-passout", "pass:secret", "-out", encrypted],
                   check=True)
    options = [word for pair_ in zip(("--tls-cert", "--tls-key", "--tls-client-ca"), files)
               for word in (pair_[0], str(authority.folder / pair_[1]))]
    done = subprocess.run([RIDGE, "serve", folder, "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0",
                           *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and says in done.stderr, done.stderr
    secrets = [line for file in authority.folder.glob("*.key") for line in file.read_text().splitlines()
               if len(line) == 64]
    assert secrets and not any(line in done.stderr for line in secrets)


# ---- keys

# (group, method, path, body): every path of the protocol
CALLS = [
    ("", "GET", "/v2/health/live", ""),
    ("", "GET", "/v2/health/ready", ""),
    ("", "GET", "/health", ""),
    ("", "GET", "/v2/models/identity/ready", ""),
    ("inference control", "GET", "/v2", ""),
    ("inference control", "GET", "/v2/models/identity", ""),
    ("inference control", "GET", "/v2/models/identity/versions/1/config", ""),
    ("inference control metrics", "GET", "/v2/models/stats", ""),
    ("inference control metrics", "GET", "/v2/models/identity/stats", ""),
    ("inference", "POST", "/v2/models/identity/infer", json.dumps(REQUEST)),
    ("metrics", "GET", "/metrics", ""),
    ("control", "POST", "/v2/repository/index", "{}"),
    ("control", "POST", "/v2/repository/models/identity/load", "{}"),
    ("control", "POST", "/v2/repository/models/none/unload", "{}"),
    ("control", "GET", "/v2/logging", ""),
    ("control", "POST", "/v2/logging", "{}"),
    ("control", "GET", "/v2/systemsharedmemory/status", ""),
    ("control", "POST", "/v2/systemsharedmemory/region/r/register", '{"key":"/none","offset":0,"byte_size":8}'),
    ("control", "POST", "/v2/systemsharedmemory/unregister", ""),
    ("control", "GET", "/v2/cudasharedmemory/status", ""),
    ("control", "POST", "/v2/cudasharedmemory/region/r/register", "{}"),
    ("control", "POST", "/v2/cudasharedmemory/unregister", ""),
]


@pytest.mark.parametrize("groups, method, path, body", CALLS)
def test_keys_open_their_groups_over_http(keyed, groups, method, path, body):
    def ask(headers):
        return keyed.request(method, path, body, headers)

    for name, key in (("inference", INFERENCE), ("control", CONTROL), ("metrics", METRICS)):
        for headers in (bearer(key), {"x-api-key": key}):
            answer = ask(headers)
            assert (answer.status == 403) == (bool(groups) and name not in groups), answer
            assert answer.status != 401
    for headers in ({}, bearer("key-of-nobody-at-all"), {"x-api-key": "key-of-nobody-at-all"},
                    {"Authorization": INFERENCE}):
        answer = ask(headers)
        assert (answer.status == 401) == bool(groups), answer
        assert not groups or answer.headers["www-authenticate"].startswith("Bearer")


def test_the_metrics_port_asks_for_keys_of_metrics(keyed):
    port = keyed.ports["metrics"]
    assert keyed.get("/metrics", port=port).status == 401
    assert keyed.get("/metrics", bearer(CONTROL), port=port).status == 403
    assert "nv_inference_count" in keyed.metrics(bearer(METRICS))


def test_a_refused_body_is_not_read(keyed):
    with keyed.connect() as connection:
        connection.send(message("POST", "/v2/models/identity/infer",
                                headers={"Content-Length": str(1 << 33), "Inference-Header-Content-Length": "100"}))
        assert connection.read().status == 401
    with keyed.connect() as connection:
        connection.send(message("POST", "/v2/models/identity/infer",
                                headers={"Transfer-Encoding": "chunked", "Expect": "100-continue"}))
        assert connection.read().status == 401  # without 100 before it
    with keyed.connect() as connection:  # without a body the connection stays
        for status, headers in ((401, {}), (403, bearer(METRICS)), (200, bearer(INFERENCE))):
            connection.send(message("GET", "/v2", headers=headers))
            assert connection.read().status == status


def test_a_key_given_twice_is_malformed(keyed):
    with keyed.connect() as connection:
        connection.send(f"GET /v2 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {INFERENCE}\r\n"
                        f"Authorization: Bearer {CONTROL}\r\n\r\n")
        assert connection.read().status == 400


UNARY = {
    "": ["inference.GRPCInferenceService/ServerLive", "inference.GRPCInferenceService/ServerReady",
         "inference.GRPCInferenceService/ModelReady", "grpc.health.v1.Health/Check"],
    "inference control": [f"inference.GRPCInferenceService/{name}"
                          for name in ("ServerMetadata", "ModelMetadata", "ModelConfig")],
    "inference control metrics": ["inference.GRPCInferenceService/ModelStatistics"],
    "inference": ["inference.GRPCInferenceService/ModelInfer"],
    "control": [f"inference.GRPCInferenceService/{name}" for name in (
        "RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload", "LogSettings", "TraceSetting",
        "SystemSharedMemoryStatus",
        "SystemSharedMemoryRegister", "SystemSharedMemoryUnregister", "CudaSharedMemoryStatus",
        "CudaSharedMemoryRegister", "CudaSharedMemoryUnregister")],
}
STREAMS = {
    "": ["grpc.health.v1.Health/Watch"],
    "inference": ["inference.GRPCInferenceService/ModelStreamInfer"],
    "inference control": ["grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                          "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"],
}


def code_of(channel, method, key, field):
    """The status of a call with an empty message, or OK once a stream has an answer or has ended well."""
    metadata = [(field, f"Bearer {key}" if field == "authorization" else key)] if key else []
    try:
        if any(method in names for names in STREAMS.values()):
            call = channel.stream_stream(f"/{method}")(iter([b""]), timeout=60, metadata=metadata)
            next(iter(call), None)
            call.cancel()
        else:
            channel.unary_unary(f"/{method}")(b"", timeout=60, metadata=metadata)
        return Code.OK
    except grpc.RpcError as error:
        return error.code()


@pytest.mark.parametrize("groups, method", [(groups, name) for table in (UNARY, STREAMS) for groups,
                                            names in table.items() for name in names])
def test_keys_open_their_groups_over_grpc(keyed, groups, method):
    with grpc.insecure_channel(f"127.0.0.1:{keyed.ports['grpc']}") as channel:
        for name, key in (("inference", INFERENCE), ("control", CONTROL), ("metrics", METRICS)):
            for field in ("authorization", "x-api-key"):
                code = code_of(channel, method, key, field)
                assert (code == Code.PERMISSION_DENIED) == (bool(groups) and name not in groups), (method, name, code)
                assert code != Code.UNAUTHENTICATED
        for key in ("", "key-of-nobody-at-all"):
            assert (code_of(channel, method, key, "authorization") == Code.UNAUTHENTICATED) == bool(groups), method


def test_every_method_of_the_service_is_in_the_tests_table():
    tested = {name.rpartition("/")[2] for table in (UNARY, STREAMS) for names in table.values() for name in names}
    service = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"]
    assert {method.name for method in service.methods} <= tested


def test_no_key_is_in_the_log(keyed):
    keyed.get("/v2", bearer(INFERENCE))
    keyed.get("/v2", bearer("key-of-nobody-at-all"))
    log = keyed.read_log()
    assert not any(key in log for key in (INFERENCE, CONTROL, METRICS, "key-of-nobody"))
    assert "unencrypted" in log


def test_a_file_that_all_may_read_is_warned_of(folder, tmp_path):
    file = tmp_path / "keys"
    file.write_text(f"all {INFERENCE}\nmetrics *\n")
    file.chmod(0o644)
    with Server(folder, "--keys", file) as running:
        assert "can be read by every user" in running.read_log()
        assert running.get("/metrics").status == 200  # no key needed
        assert running.get("/v2").status == 401


# ---- rotation


def test_certificates_and_keys_change_under_load_without_a_failed_request(folder, authority, tmp_path):
    first, second = authority.issue("first", serial=101), authority.issue("second", serial=102)
    live = tmp_path / "live.pem", tmp_path / "live.key"
    keys, old, new = tmp_path / "keys", "the-old-key-000001", "the-new-key-000002"

    def put(pair):
        for source, target in zip(pair, live):  # one after the other: for a moment they do not fit
            shutil.copy(source, f"{target}.next")
            os.chmod(f"{target}.next", 0o600)
            os.rename(f"{target}.next", target)

    def serial(port):
        with (socket.create_connection(("127.0.0.1", port)) as plain,
              authority.context().wrap_socket(plain, server_hostname="localhost") as wrapped):
            return int(wrapped.getpeercert()["serialNumber"], 16)

    def grpc_serial(port):
        context = authority.context()
        context.set_alpn_protocols(["h2"])
        with (socket.create_connection(("127.0.0.1", port)) as plain,
              context.wrap_socket(plain, server_hostname="localhost") as wrapped):
            return int(wrapped.getpeercert()["serialNumber"], 16)

    put(first)
    write_keys(keys, f"all {old}")
    with Server(folder, "--tls-cert", live[0], "--tls-key", live[1], "--keys", keys,
                tls=authority.context()) as running:
        grpc_port, stop, served = running.ports["grpc"], threading.Event(), [0, 0, 0]
        current = [old]
        assert serial(running.port) == grpc_serial(grpc_port) == serial(running.ports["metrics"]) == 101

        def new_connections():
            while not stop.is_set():
                assert running.infer("identity", REQUEST, bearer(current[0])).status == 200
                served[0] += 1

        def one_connection():
            with running.connect() as connection:
                while not stop.is_set():
                    connection.send(message("POST", "/v2/models/identity/infer", json.dumps(REQUEST),
                                            bearer(current[0])))
                    assert connection.read().status == 200
                    served[1] += 1

        def over_grpc():
            while not stop.is_set():
                options = [("grpc.use_local_subchannel_pool", 1)]
                request = pb.ModelMetadataRequest(name="identity").SerializeToString()
                with grpc.secure_channel(f"localhost:{grpc_port}", authority.credentials(), options) as channel:
                    for _ in range(3):
                        channel.unary_unary("/inference.GRPCInferenceService/ModelMetadata")(
                            request, timeout=60, metadata=[("x-api-key", current[0])])
                        served[2] += 1

        with concurrent.futures.ThreadPoolExecutor() as pool:
            clients = [pool.submit(each) for each in (new_connections, one_connection, over_grpc)]
            try:
                wait_until(lambda: min(served) > 0)
                put(second)
                write_keys(keys, f"all {old}", f"all {new}")
                wait_until(lambda: serial(running.port) == grpc_serial(grpc_port) == serial(running.ports["metrics"])
                           == 102)
                wait_until(lambda: running.get("/v2", bearer(new)).status == 200)
                current[0] = new
                before = list(served)
                wait_until(lambda: all(now > then + 4 for now, then in zip(served, before))
                           or any(client.done() for client in clients))
                write_keys(keys, f"all {new}")  # the clients have changed over
                wait_until(lambda: running.get("/v2", bearer(old)).status == 401)
            finally:
                stop.set()
            for client in clients:
                client.result()

        live[1].write_text("no key")  # what is unusable changes nothing
        running.wait_log("stays in use")
        keys.write_text("no key")
        wait_until(lambda: running.read_log().count("stays in use") == 2)
        assert serial(running.port) == 102 and running.get("/v2", bearer(new)).status == 200
        assert running.process.poll() is None
