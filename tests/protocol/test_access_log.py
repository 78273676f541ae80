"""The access log and structured logs: a line per answered call over HTTP and gRPC, as text and JSON, through rotation
and without waiting for a reader."""

import json
import os
import socket
import struct
import subprocess
import threading
import time

import grpc
import numpy
import pytest
import tritonclient.grpc as client_library
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

import language_models
import models
from server import RIDGE, Connection, Server, fp32, message, wait_until

INFERENCE, CONTROL = "key-of-inference-7d1f", "key-of-control-93b2"
REQUEST = {"id": "r1", "inputs": [fp32("x", [1, 16], [1.0] * 16)]}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


def lines_of(file, count):
    """The first lines in that number, as soon as they are there."""
    wait_until(lambda: file.exists() and file.read_text().count("\n") >= count)
    lines = file.read_text().splitlines()
    assert len(lines) == count, lines
    return lines


def test_text_names_each_call_and_never_a_key(repository, tmp_path):
    keys, file = tmp_path / "keys", tmp_path / "access"
    keys.write_text(f"inference {INFERENCE} name=shop\ncontrol {CONTROL}\n")
    keys.chmod(0o600)
    with Server(repository, "--access-log", file, "--keys", keys, wait_ready=False) as server:
        server.wait_log("all models are loaded")
        body = json.dumps(REQUEST)
        answer = server.post("/v2/models/identity/infer?token=hidden", body,
                             {"Authorization": f"Bearer {INFERENCE}", **PARENT})
        assert answer.status == 200
        assert server.get("/v2/models/no%20such", {"x-api-key": CONTROL}).status == 404
        assert server.get("/v2/models/identity", {"x-api-key": "an-unknown-key-0000"}).status == 401
        infer, missing, refused = [line.split() for line in lines_of(file, 3)]
        assert infer[1:9] == ["127.0.0.1", "shop", '"POST', '/v2/models/identity/infer"', "identity", "200",
                              str(len(body)), str(len(answer.body))]
        assert float(infer[9]) > 0 and infer[10:] == ["r1", TRACE]
        assert missing[2:7] == ["-", '"GET', '/v2/models/no%20such"', "no\\x20such",
                                "404"] and missing[10:] == ["-", "-"]
        assert refused[2] == "-" and refused[6] == "401"
        assert not any(secret in file.read_text() for secret in (INFERENCE, CONTROL, "unknown-key", "hidden"))
        assert server.get("/metrics", port=server.ports["metrics"]).status == 401
        assert lines_of(file, 4)[3].split()[4:7] == ['/metrics"', "-", "401"]


def test_metrics_count_calls_and_tokens_by_the_names_of_keys(tmp_path):
    keys, repository = tmp_path / "keys", tmp_path / "repository"
    models.identity(repository / "identity" / "1" / "model.onnx")
    language_models.write(repository / "talker")
    keys.write_text(f"inference {INFERENCE} name=shop\ninference {CONTROL} name=idle\nmetrics *\n")
    keys.chmod(0o600)
    with Server(repository, "--keys", keys) as server:
        assert server.post("/v2/models/identity/infer", json.dumps(REQUEST), {"x-api-key": INFERENCE}).status == 200
        assert server.post("/v2/models/identity/infer", json.dumps(REQUEST),
                           {"x-api-key": "an-unknown-key-0000"}).status == 401
        value = client_library.InferInput("x", [1, 16], "FP32")
        value.set_data_from_numpy(numpy.ones((1, 16), numpy.float32))
        with client_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as client:
            client.infer("identity", [value], headers={"x-api-key": INFERENCE})
        chat = {"model": "talker", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 3,
                "ignore_eos": True}
        usage = server.post("/v1/chat/completions", json.dumps(chat), {"x-api-key": INFERENCE}).json()["usage"]
        assert usage["completion_tokens"] == 3
        text = server.get("/metrics", port=server.ports["metrics"]).body.decode()
        assert {line for line in text.splitlines() if line.startswith("ridge_key_")} == {
            'ridge_key_requests{key="shop"} 3', 'ridge_key_requests{key="idle"} 0',
            f'ridge_key_tokens{{key="shop",kind="prompt"}} {usage["prompt_tokens"]}',
            'ridge_key_tokens{key="shop",kind="generated"} 3',
            'ridge_key_tokens{key="idle",kind="prompt"} 0', 'ridge_key_tokens{key="idle",kind="generated"} 0'}
        assert INFERENCE not in text


def test_json_of_http_and_grpc(repository, tmp_path):
    file = tmp_path / "access"
    with Server(repository, "--access-log", file, "--log-format", "json", wait_ready=False) as server:
        server.wait_log("all models are loaded")
        row = numpy.ones((1, 16), numpy.float32)
        value = client_library.InferInput("x", [1, 16], "FP32")
        value.set_data_from_numpy(row)
        with client_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as client:
            client.infer("identity", [value], request_id="g1", headers=PARENT)
            client.get_model_metadata("simple")
        with grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            with pytest.raises(grpc.RpcError):
                stub.ModelInfer(pb.ModelInferRequest(model_name="nope"))
            list(stub.ModelStreamInfer(iter([pb.ModelInferRequest(model_name="simple")])))
        assert server.infer("identity", REQUEST).status == 200
        infer, metadata, unknown, stream, http = [json.loads(line) for line in lines_of(file, 5)]
        assert (infer["method"] == "GRPC" and infer["path"] == "/inference.GRPCInferenceService/ModelInfer"
                and infer["client"] == "127.0.0.1")
        assert (infer["model"], infer["status"], infer["request_id"], infer["trace_id"],
                infer["key"]) == ("identity", "OK", "g1", TRACE, None)
        assert infer["bytes_in"] > 64 and infer["bytes_out"] > 64 and infer["duration_ms"] > 0
        assert (metadata["model"], metadata["status"]) == ("simple", "OK")
        assert (unknown["model"], unknown["status"]) == ("nope", "NOT_FOUND")
        assert (stream["status"], stream["trace_id"]) == ("OK", None)
        assert (http["method"], http["status"], http["request_id"]) == ("POST", "200", "r1")
        log = [json.loads(line) for line in server.read_log().splitlines()]
        assert {"time", "level",
                "message"} == set(log[0]) and any("all models are loaded" in line["message"] for line in log)
        assert server.get("/v2/logging").json()["log_format"] == "json"
        assert server.post("/v2/logging", {"log_format": "xml"}).status == 400
        assert server.post("/v2/logging", {"log_format": "ISO8601"}).json()["log_format"] == "default"


def test_what_the_server_refuses_and_who_leaves_is_in_it(repository, tmp_path):
    file = tmp_path / "access"
    with Server(repository, "--access-log", file, "--run-timeout-secs=2", wait_ready=False) as server:
        server.wait_log("all models are loaded")
        with Connection(server.port) as connection:
            connection.send("NONSENSE\r\n\r\n")
            assert connection.read().status == 400
        assert lines_of(file, 1)[0].split()[3:7] == ['"OTHER', '-"', "-", "400"]
        slow = {"inputs": [{"name": "n", "shape": [1], "datatype": "INT64", "data": [20000]}]}
        with Connection(server.port) as connection:
            connection.deliver(message("POST", "/v2/models/steps/infer", json.dumps(slow)))
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets
        assert lines_of(file, 3)[2].split()[4:7] == ['/v2/models/steps/infer"', "steps", "499"]


def steps_input(count):
    return [{"name": "n", "shape": [1], "datatype": "INT64", "data": [count]}]


def test_a_client_that_closes_its_socket_during_a_run_has_left_and_one_that_ends_its_sending_has_not(
        repository, tmp_path):
    file = tmp_path / "access"
    short = message("POST", "/v2/models/steps/infer", json.dumps({"inputs": steps_input(50)}))
    with Server(repository, "--access-log", file) as server:
        with Connection(server.port) as connection:
            connection.deliver(short)
        wait_until(lambda: file.exists() and "steps" in file.read_text())
        with Connection(server.port) as connection:
            connection.deliver(short)
            connection.socket.shutdown(socket.SHUT_WR)
            assert connection.read().status == 200
        wait_until(lambda: file.read_text().count("steps") == 4)
    assert [line.split()[6] for line in file.read_text().splitlines() if "steps" in line] == ["499", "200"]


def test_a_grpc_call_that_its_client_ends_has_the_status_that_the_client_sees(repository, tmp_path):
    file = tmp_path / "access"
    request = lambda count: pb.ModelInferRequest(model_name="steps", inputs=[pb.ModelInferRequest.InferInputTensor(
        name="n", shape=[1], datatype="INT64", contents=pb.InferTensorContents(int64_contents=[count]))])
    with Server(repository, "--access-log", file, "--log-format=json", wait_ready=False) as server:
        server.wait_log("all models are loaded")
        with grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            over = threading.Event()

            def open_end():
                yield request(1)
                over.wait()

            stream = stub.ModelStreamInfer(open_end(), timeout=100)
            assert next(stream).infer_response.model_name == "steps"
            stream.cancel()
            lines_of(file, 1)
            over.set()
            with pytest.raises(grpc.RpcError) as late:
                stub.ModelInfer(request(1000), timeout=0.1)
            assert late.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            calls = [json.loads(line) for line in lines_of(file, 2)]
        assert [(call["status"], call["client"]) for call in calls] == [("CANCELLED", "127.0.0.1"),
                                                                        ("DEADLINE_EXCEEDED", "127.0.0.1")]


def test_an_answer_of_a_server_that_ends_is_one_line(repository, tmp_path):
    file, recorded = tmp_path / "access", tmp_path / "recorded"
    with Server(repository, "--access-log", file, "--record", recorded,
                wait_ready=False) as server, server.connect() as connection:
        server.wait_log("all models are loaded")
        slow = {"inputs": [{"name": "n", "shape": [1], "datatype": "INT64", "data": [2000]}]}
        connection.deliver(message("POST", "/v2/models/steps/infer", json.dumps(slow)))
        wait_until(lambda: list(recorded.glob("steps/request-*.npz")))
        server.process.terminate()
        assert connection.read().status == 200 and connection.closed_by_server()
        assert server.process.wait(60) == 0
    assert [line.split()[6] for line in file.read_text().splitlines()] == ["200", "200"]


def test_the_file_is_followed_by_its_name(repository, tmp_path):
    file, old = tmp_path / "access", tmp_path / "access.1"
    with Server(repository, "--access-log", file, wait_ready=False) as server:
        assert server.get("/first").status == 404
        lines_of(file, 1)
        os.rename(file, old)
        wait_until(file.exists)
        assert server.get("/second").status == 404
        assert "/second" in lines_of(file, 1)[0] and "/second" not in old.read_text()
        assert server.get("/last").status == 404
    assert "/last" in lines_of(file, 2)[1]


def test_no_request_waits_for_the_reader(repository):
    reader, writer = os.pipe()
    with Server(repository, "--access-log", f"/proc/self/fd/{writer}", wait_ready=False, pass_fds=[writer]) as server:
        with Connection(server.port) as connection:
            end = time.monotonic() + 2  # far more than the pipe takes, and than the log waits for it
            while time.monotonic() < end:
                connection.send(message("GET", "/v2/health/live"))
                assert connection.read().status == 200
        os.set_blocking(reader, False)
        text = ""

        def drained():
            nonlocal text
            try:
                text += os.read(reader, 1 << 20).decode()
            except BlockingIOError:
                pass
            server.get("/more")
            return "of the access log dropped" in text

        wait_until(drained)
    os.close(reader)
    os.close(writer)


def test_a_file_that_cannot_be_written_is_an_error(repository, tmp_path):
    done = subprocess.run([RIDGE, "serve", str(repository), "--access-log", "/nowhere/access", "--http-port=0"],
                          capture_output=True, text=True)
    assert done.returncode == 3 and "/nowhere/access" in done.stderr
