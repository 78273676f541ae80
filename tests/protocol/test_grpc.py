"""gRPC: every method of the service with stock clients, health and reflection, limits, streams, compression, shared
memory."""

# ctest: timeout 300
import asyncio
import concurrent.futures
import csv
import json
import os
import pathlib
import queue
import re
import socket
import subprocess
import time

import grpc
import numpy
import pytest
import tritonclient.grpc as client_library
import tritonclient.grpc.aio as aio_library
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import InferenceServerException

import models
from server import RIDGE, Server, wait_until

DEPS = pathlib.Path(os.environ.get("RIDGE_DEPS", pathlib.Path(__file__).resolve().parents[2] / ".deps"))
Code = grpc.StatusCode


@pytest.fixture(scope="module")
def address(server):
    return f"127.0.0.1:{server.ports['grpc']}"


@pytest.fixture(scope="module")
def client(address):
    with client_library.InferenceServerClient(address) as connected:
        yield connected


@pytest.fixture(scope="module")
def channel(address):
    with grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1),
                                                 ("grpc.max_send_message_length", -1)]) as open_channel:
        yield open_channel


@pytest.fixture(scope="module")
def stub(channel):
    return service_pb2_grpc.GRPCInferenceServiceStub(channel)


def request(model, array, datatype, **fields):
    """A ModelInferRequest with raw contents."""
    made = pb.ModelInferRequest(model_name=model, **fields)
    made.inputs.add(name="x", datatype=datatype, shape=list(array.shape))
    made.raw_input_contents.append(array.tobytes())
    return made


def refused(call, *codes):
    """The call fails with one of the codes; its message."""
    with pytest.raises(grpc.RpcError) as error:
        call()
    assert error.value.code() in codes, error.value
    return error.value.details()


ROWS = numpy.arange(64, dtype=numpy.float32).reshape(4, 16)


def test_health_and_metadata(client, server):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("identity") and client.is_model_ready("versions", "2")
    assert not client.is_model_ready("nope") and not client.is_model_ready("identity", "9")
    metadata = client.get_server_metadata()
    assert metadata.name == "ridge" and metadata.version == server.get("/v2").json()["version"]
    assert list(metadata.extensions) == server.get("/v2").json()["extensions"]
    model = client.get_model_metadata("versions", as_json=True)
    over_http = server.get("/v2/models/versions").json()
    assert model["versions"] == over_http["versions"] == ["1", "2", "10"] and model["platform"] == over_http["platform"]
    assert [(t["name"], t["datatype"], [int(d) for d in t["shape"]]) for t in model["inputs"]] == \
        [(t["name"], t["datatype"], t["shape"]) for t in over_http["inputs"]]
    config = client.get_model_config("classes").config
    assert (config.max_batch_size == 8 and config.output[0].label_filename == "labels.txt"
            and list(config.input[0].dims) == [4])


def test_unknown_models_and_versions_are_not_found(stub):
    for call in (lambda: stub.ModelMetadata(pb.ModelMetadataRequest(name="nope")),
                 lambda: stub.ModelConfig(pb.ModelConfigRequest(name="identity", version="9")),
                 lambda: stub.ModelStatistics(pb.ModelStatisticsRequest(name="nope")),
                 lambda: stub.ModelInfer(request("nope", ROWS, "FP32"))):
        refused(call, Code.NOT_FOUND)
    assert "Request for unknown model: 'nope' is not found" in refused(
        lambda: stub.ModelInfer(request("nope", ROWS, "FP32")), Code.NOT_FOUND)
    refused(lambda: stub.ModelMetadata(pb.ModelMetadataRequest(name="identity", version="one")), Code.INVALID_ARGUMENT)


def test_unknown_methods_are_unimplemented(channel):
    for path in ("/inference.GRPCInferenceService/Nothing", "/x.Y/Z"):
        assert "no method" in refused(lambda: channel.unary_unary(path)(b""), Code.UNIMPLEMENTED)


SIZES = {"BOOL": 1, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8,
         "FP16": 2, "FP32": 4, "FP64": 8, "BF16": 2}


@pytest.mark.parametrize("datatype", sorted(models.ELEMENT))
def test_every_datatype_comes_back_bit_for_bit(stub, datatype):
    raw = (b"\1\0\0\0a\3\0\0\0\xff\0b" if datatype == "BYTES" else bytes(range(1, 2 * SIZES[datatype] + 1)))
    if datatype == "BOOL":
        raw = b"\1\0"
    made = pb.ModelInferRequest(model_name=f"identity_{datatype.lower()}", id="an id")
    made.inputs.add(name="x", datatype=datatype, shape=[1, 2])
    made.raw_input_contents.append(raw)
    answer = stub.ModelInfer(made)
    assert answer.raw_output_contents[0] == raw and answer.id == "an id" and answer.model_version == "1"
    assert answer.outputs[0].datatype == datatype and list(answer.outputs[0].shape) == [1, 2]


def test_typed_contents(stub):
    made = pb.ModelInferRequest(model_name="identity_int8")
    made.inputs.add(name="x", datatype="INT8", shape=[1, 2], contents=pb.InferTensorContents(int_contents=[-128, 127]))
    assert stub.ModelInfer(made).raw_output_contents[0] == b"\x80\x7f"
    made.inputs[0].contents.int_contents[0] = -129
    assert "input 'x': -129 does not fit INT8" in refused(lambda: stub.ModelInfer(made), Code.INVALID_ARGUMENT)
    made.inputs[0].contents.int_contents[:] = [1]
    refused(lambda: stub.ModelInfer(made), Code.INVALID_ARGUMENT)
    made.raw_input_contents.append(b"\1\1")
    assert "both typed contents and raw" in refused(lambda: stub.ModelInfer(made), Code.INVALID_ARGUMENT)
    long = pb.ModelInferRequest(model_name="identity_fp32")
    long.inputs.add(name="x", datatype="FP32", shape=[1, 100_000],
                    contents=pb.InferTensorContents(fp32_contents=range(100_000)))
    assert numpy.array_equal(numpy.frombuffer(stub.ModelInfer(long).raw_output_contents[0], numpy.float32),
                             numpy.arange(100_000))


def test_wrong_requests_are_invalid_arguments(stub):
    good = request("identity", ROWS, "FP32")
    changes = [lambda r: r.raw_input_contents.append(b""), lambda r: r.raw_input_contents.pop(),
               lambda r: r.inputs[0].shape.append(1),
               lambda r: setattr(r.inputs[0], "datatype", "FLOAT"), lambda r: setattr(r.inputs[0], "name", "other"),
               lambda r: setattr(r, "model_version", "x"), lambda r: r.outputs.add(name="nope"),
               lambda r: setattr(r, "model_name", ""),
               lambda r: r.inputs[0].shape.__setitem__(0, -1), lambda r: r.inputs[0].shape.__setitem__(0, 1 << 62)]
    for change in changes:
        wrong = pb.ModelInferRequest()
        wrong.CopyFrom(good)
        change(wrong)
        refused(lambda: stub.ModelInfer(wrong), Code.INVALID_ARGUMENT)
    assert stub.ModelInfer(good).raw_output_contents[0] == ROWS.tobytes()


def test_bytes_that_are_no_message_are_invalid_arguments_and_no_lines_of_the_log(channel, server):
    for path in ("ModelInfer", "ModelReady", "RepositoryIndex"):
        for bad in (b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x1f\x8b\x08", b"\x78\x9cxx"):
            refused(lambda: channel.unary_unary(f"/inference.GRPCInferenceService/{path}")(bad), Code.INVALID_ARGUMENT)
        not_utf8 = b"\x0a\x01\xff"  # the model's name, or the repository's
        refused(lambda: channel.unary_unary(f"/inference.GRPCInferenceService/{path}")(not_utf8), Code.INVALID_ARGUMENT,
                Code.NOT_FOUND)
    assert "protobuf" not in server.read_log()


def test_outputs_and_classification(stub):
    made = request("classes", numpy.array([[0.1, 0.7, 0.2, 0.0]], numpy.float32), "FP32")
    made.outputs.add(name="y").parameters["classification"].int64_param = 2
    answer = stub.ModelInfer(made)
    assert answer.outputs[0].datatype == "BYTES" and list(answer.outputs[0].shape) == [1, 2]
    assert b"0.700000:1:dog" in answer.raw_output_contents[0]
    made.outputs[0].parameters["classification"].int64_param = 0
    refused(lambda: stub.ModelInfer(made), Code.INVALID_ARGUMENT)


def test_large_tensors(stub):
    rows = numpy.random.default_rng(1).random((8, 2_000_000), numpy.float32)
    answer = stub.ModelInfer(request("identity_fp32", rows, "FP32"))
    assert answer.raw_output_contents[0] == rows.tobytes()


@pytest.mark.parametrize("algorithm", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_requests(stub, algorithm):
    for size in (2, 20_000, 1_000_000):
        rows = numpy.arange(size, dtype=numpy.float32).reshape(1, size)
        answer = stub.ModelInfer(request("identity_fp32", rows, "FP32"), compression=algorithm)
        assert answer.raw_output_contents[0] == rows.tobytes()
    assert stub.ModelReady(pb.ModelReadyRequest(name="identity" + "x" * 2000), compression=algorithm).ready is False


def memory_of(server):
    return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{server.process.pid}/status").read())[1]) // 1024


def test_a_compressed_message_that_grows_beyond_the_limit_is_refused_before_it_is_unpacked(repository):
    with Server(repository, "--http-max-input-size", 4_000_000) as server:
        with grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}",
                                   options=[("grpc.max_send_message_length", -1)]) as channel:
            call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
            before = memory_of(server)
            details = refused(lambda: call(b"\0" * 300_000_000, compression=grpc.Compression.Gzip, timeout=60),
                              Code.RESOURCE_EXHAUSTED)
            assert "4000000" in details and memory_of(server) - before < 100
        assert server.get("/v2/health/ready").status == 200


@pytest.mark.parametrize("level", ["low", "high"])
def test_compressed_answers(repository, level):
    with Server(repository, "--grpc-infer-response-compression-level", level) as server:
        with grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}",
                                   options=[("grpc.max_receive_message_length", -1)]) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            for size in (2, 3_000, 1_000_000):
                rows = numpy.zeros((1, size), numpy.float32)
                assert stub.ModelInfer(request("identity_fp32", rows, "FP32")).raw_output_contents[0] == rows.tobytes()
                packed = stub.ModelInfer(request("identity_fp32", rows, "FP32"), compression=grpc.Compression.Gzip)
                assert packed.raw_output_contents[0] == rows.tobytes()
            made = [request("identity_fp32", numpy.full((1, 50_000), i, numpy.float32), "FP32", id=str(i))
                    for i in range(5)]
            assert [a.infer_response.id for a in stub.ModelStreamInfer(iter(made))] == [str(i) for i in range(5)]


def test_statistics_count_the_requests(client, stub):
    before = client.get_inference_statistics("identity").model_stats[0]
    stub.ModelInfer(request("identity", ROWS, "FP32"))
    wait_until(lambda: client.get_inference_statistics("identity").model_stats[0].inference_stats.success.count
               == before.inference_stats.success.count + 1)
    after = client.get_inference_statistics("identity").model_stats[0]
    assert (after.inference_count == before.inference_count + 4 and after.version == "1"
            and after.batch_stats[-1].batch_size >= 1)
    assert after.inference_stats.HasField("cache_hit") and after.inference_stats.HasField("cache_miss")
    assert {m.name for m in client.get_inference_statistics().model_stats} >= {"identity", "simple"}


def infer_input(array, datatype="FP32"):
    given = client_library.InferInput("x", list(array.shape), datatype)
    given.set_data_from_numpy(array)
    return given


def test_tritonclient_infers_and_infers_asynchronously(client):
    result = client.infer("identity", [infer_input(ROWS)], request_id="7",
                          outputs=[client_library.InferRequestedOutput("y")])
    assert numpy.array_equal(result.as_numpy("y"), ROWS) and result.get_response().id == "7"
    answers = queue.Queue()
    for i in range(50):
        client.async_infer("identity", [infer_input(ROWS + i)], lambda result, error,
                           i=i: answers.put((i, result, error)))
    for _ in range(50):
        i, result, error = answers.get(timeout=60)
        assert error is None and numpy.array_equal(result.as_numpy("y"), ROWS + i)
    with pytest.raises(InferenceServerException, match="unknown model"):
        client.infer("nope", [infer_input(ROWS)])


def test_tritonclient_aio(address):
    async def ask():
        async with aio_library.InferenceServerClient(address) as client:
            assert await client.is_server_ready()
            results = await asyncio.gather(*[client.infer("identity", [infer_input(ROWS + i)]) for i in range(20)])
            assert all(numpy.array_equal(result.as_numpy("y"), ROWS + i) for i, result in enumerate(results))

            async def requests():
                for i in range(10):
                    yield {"model_name": "identity", "inputs": [infer_input(ROWS + i)], "request_id": str(i)}
            seen = []
            async for result, error in client.stream_infer(requests()):
                assert error is None
                seen.append(result.get_response().id)
            assert seen == [str(i) for i in range(10)]
    asyncio.run(ask())


def test_a_stream_answers_in_order_and_survives_wrong_requests(stub):
    def requests():
        for i in range(300):
            model = "nope" if i % 10 == 3 else "identity"
            broken = pb.ModelInferRequest(model_name="identity", id=str(i),
                                          inputs=[pb.ModelInferRequest.InferInputTensor(name="x")])
            yield request(model, ROWS + i, "FP32", id=str(i)) if i % 10 != 5 else broken
    answers = list(stub.ModelStreamInfer(requests(), timeout=60))
    assert [answer.infer_response.id for answer in answers] == [str(i) for i in range(300)]
    for i, answer in enumerate(answers):
        assert bool(answer.error_message) == (i % 10 in (3, 5))
        if not answer.error_message:
            assert answer.infer_response.raw_output_contents[0] == (ROWS + i).tobytes()


def test_tritonclient_streams(client):
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for i in range(20):
        client.async_stream_infer("identity", [infer_input(ROWS + i)], request_id=str(i))
    for i in range(20):
        result, error = answers.get(timeout=60)
        assert error is None and result.get_response().id == str(i) and numpy.array_equal(
            result.as_numpy("y"), ROWS + i)
    client.stop_stream()


def test_index_and_log_settings(client, stub, server):
    entries = {entry.name: entry for entry in client.get_model_repository_index().models}
    assert entries["identity"].state == "READY" and entries["identity"].version == "1"
    assert client.get_log_settings().settings["log_info"].bool_param is True
    assert client.update_log_settings({"log_info": False}).settings["log_info"].bool_param is False
    assert server.get("/v2/logging").json()["log_info"] is False
    client.update_log_settings({"log_info": True})
    with pytest.raises(InferenceServerException, match="log_file"):
        client.update_log_settings({"log_file": "/tmp/x"})
    details = refused(lambda: stub.RepositoryModelLoad(pb.RepositoryModelLoadRequest(model_name="identity")),
                      Code.UNAVAILABLE)
    assert "explicit" in details


def test_models_are_loaded_and_unloaded(repository):
    with Server(repository, "--model-control-mode=explicit", "--load-model=simple") as server:
        with client_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as client:
            assert not client.is_model_ready("identity")
            client.load_model("identity")
            assert client.is_model_ready("identity")
            with pytest.raises(InferenceServerException, match="failed to load 'nope', "):
                client.load_model("nope")
            content = (repository / "identity" / "1" / "model.onnx").read_bytes()
            client.load_model("brought", config=json.dumps({"max_batch_size": 8}), files={"file:1/model.onnx": content})
            assert numpy.array_equal(client.infer("brought", [infer_input(ROWS)]).as_numpy("y"), ROWS)
            for key in ("file:../x", "file:/etc/x", "other"):
                with pytest.raises(InferenceServerException):
                    client.load_model("brought", config="{}", files={key: b"x"})
            client.unload_model("identity")
            wait_until(lambda: not client.is_model_ready("identity"))
    with Server(repository, "--model-control-mode=explicit", "--allow-model-control=false") as server:
        with client_library.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as client:
            with pytest.raises(InferenceServerException, match="allow-model-control"):
                client.load_model("identity")
            with pytest.raises(InferenceServerException, match="allow-model-control"):
                client.update_log_settings({"log_info": False})


def test_system_shared_memory(client):
    import tritonclient.utils.shared_memory as shared_memory
    given = shared_memory.create_shared_memory_region("in", "/ridge_grpc_in", ROWS.nbytes)
    wanted = shared_memory.create_shared_memory_region("out", "/ridge_grpc_out", ROWS.nbytes)
    try:
        shared_memory.set_shared_memory_region(given, [ROWS])
        client.register_system_shared_memory("in", "/ridge_grpc_in", ROWS.nbytes)
        client.register_system_shared_memory("out", "/ridge_grpc_out", ROWS.nbytes)
        assert set(client.get_system_shared_memory_status().regions) == {"in", "out"}
        tensor_in = client_library.InferInput("x", list(ROWS.shape), "FP32")
        tensor_in.set_shared_memory("in", ROWS.nbytes)
        tensor_out = client_library.InferRequestedOutput("y")
        tensor_out.set_shared_memory("out", ROWS.nbytes)
        answer = client.infer("identity", [tensor_in], outputs=[tensor_out])
        assert answer.get_output("y").parameters["shared_memory_region"].string_param == "out"
        assert numpy.array_equal(shared_memory.get_contents_as_numpy(wanted, numpy.float32, ROWS.shape), ROWS)
        client.unregister_system_shared_memory("in")
        assert set(client.get_system_shared_memory_status().regions) == {"out"}
    finally:
        client.unregister_system_shared_memory()
        for region in (given, wanted):
            shared_memory.destroy_shared_memory_region(region)


def test_cuda_shared_memory_answers_without_a_gpu(client, stub):
    assert len(client.get_cuda_shared_memory_status().regions) == 0
    client.unregister_cuda_shared_memory()
    assert "64 bytes" in refused(
        lambda: stub.CudaSharedMemoryRegister(
            pb.CudaSharedMemoryRegisterRequest(name="r", raw_handle=b"short", byte_size=4)), Code.INVALID_ARGUMENT)
    refused(
        lambda: stub.CudaSharedMemoryRegister(
            pb.CudaSharedMemoryRegisterRequest(name="r", raw_handle=b"x" * 64, byte_size=4)), Code.UNIMPLEMENTED,
        Code.INVALID_ARGUMENT, Code.UNAVAILABLE)


def test_shared_memory_that_is_not_allowed(repository):
    with Server(repository, "--allow-client-shm=false") as server:
        with grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            refused(lambda: stub.SystemSharedMemoryStatus(pb.SystemSharedMemoryStatusRequest()), Code.UNIMPLEMENTED)
            made = pb.ModelInferRequest(model_name="identity")
            parameters = made.inputs.add(name="x", datatype="FP32", shape=[1, 2]).parameters
            parameters["shared_memory_region"].string_param = "r"
            parameters["shared_memory_byte_size"].int64_param = 8
            assert "allow-client-shm" in refused(lambda: stub.ModelInfer(made), Code.UNIMPLEMENTED)
            assert not [name for name in stub.ServerMetadata(pb.ServerMetadataRequest()).extensions
                        if "shared_memory" in name]


def test_health_service_and_its_watch(channel):
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    for service in (b"", b"\n\3any", b"\n\x1einference.GRPCInferenceService"):
        assert check(service) == b"\x08\x01"
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
    assert next(watch) == b"\x08\x01"
    watch.cancel()


def field(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection(channel, version):
    ask = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
    answers = list(ask(iter([field(7, b"*"), field(4, b"inference.GRPCInferenceService.ModelInfer"),
                             field(3, b"model_config.proto"), field(4, b"no.such.Thing")])))
    assert (b"inference.GRPCInferenceService" in answers[0] and b"grpc.health.v1.Health" in answers[0]
            and version.encode() in answers[0])
    assert b"ModelInferRequest" in answers[1] and b"model_config.proto" in answers[1]
    assert b"ModelConfig" in answers[2]
    assert b"not found: no.such.Thing" in answers[3]


WITHOUT_WARM_UP = 'parameters { key: "ridge_warmup" value { string_value: "off" } }\n'


def test_deadlines_and_cancellation_end_calls_and_queued_work_is_dropped(tmp_path):
    models.fake(tmp_path / "slow", WITHOUT_WARM_UP, latency_ms=1500)
    with Server(tmp_path) as server, grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        asked = request("slow", ROWS, "FP32")
        running = stub.ModelInfer.future(asked)
        wait_until(lambda: "nv_inference_pending_request_count" in server.metrics())
        time.sleep(0.2)  # until it runs
        begin = time.monotonic()
        refused(lambda: stub.ModelInfer(asked, timeout=0.2), Code.DEADLINE_EXCEEDED)
        assert time.monotonic() - begin < 1
        cancelled = stub.ModelInfer.future(asked)
        time.sleep(0.1)
        cancelled.cancel()
        stream = stub.ModelStreamInfer(iter([asked] * 3))
        time.sleep(0.1)
        stream.cancel()
        assert running.result(timeout=30).raw_output_contents[0] == ROWS.tobytes()
        cancelled = 'nv_inference_request_failure{model="slow",version="1",reason="CANCELED"} 5'
        wait_until(lambda: cancelled in server.metrics())
        assert server.statistics("slow")["execution_count"] == 1


def test_a_deadline_that_will_not_be_met_is_refused_at_once_with_the_prediction(tmp_path):
    models.fake(tmp_path / "slow", WITHOUT_WARM_UP, latency_ms=1500)
    with Server(tmp_path) as server, grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        asked = request("slow", ROWS, "FP32")
        stub.ModelInfer(asked)
        running = stub.ModelInfer.future(asked)
        time.sleep(0.2)  # until it runs
        begin = time.monotonic()
        details = refused(lambda: stub.ModelInfer(asked, timeout=1), Code.UNAVAILABLE)
        assert time.monotonic() - begin < 0.9
        assert len(re.findall(r"[\d.]+ ms", details)) == 3
        assert running.result(timeout=30).raw_output_contents[0] == ROWS.tobytes()
        assert ('ridge_inference_request_rejected{model="slow",version="1",reason="PREDICTED_LATE"} 1\n'
                in server.metrics())


def test_a_client_that_retries_waits_as_long_as_the_queue_is_full(tmp_path):
    models.fake(tmp_path / "slow",
                "dynamic_batching { default_queue_policy { max_queue_size: 1 } }\n" + WITHOUT_WARM_UP, latency_ms=1000)
    retries = {"methodConfig": [{"name": [{}], "retryPolicy": {
        "maxAttempts": 5, "initialBackoff": "0.01s", "maxBackoff": "0.01s", "backoffMultiplier": 1,
        "retryableStatusCodes": ["UNAVAILABLE"]}}]}
    patience = [("grpc.service_config", json.dumps(retries))]
    with (Server(tmp_path) as server, grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel,
          grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}", options=patience) as patient):
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        asked = request("slow", ROWS, "FP32")
        stub.ModelInfer(asked)  # it is measured
        accepted = [stub.ModelInfer.future(asked)]
        wait_until(lambda: server.statistics("slow").get("execution_count") == 1)
        time.sleep(0.2)  # until it runs
        accepted.append(stub.ModelInfer.future(asked))
        time.sleep(0.1)
        with pytest.raises(grpc.RpcError) as full:
            stub.ModelInfer(asked)
        assert full.value.code() == Code.UNAVAILABLE
        assert 0 < int(dict(full.value.trailing_metadata())["grpc-retry-pushback-ms"]) <= 1000
        assert (service_pb2_grpc.GRPCInferenceServiceStub(patient).ModelInfer(asked).raw_output_contents[0]
                == ROWS.tobytes())
        for answer in accepted:
            assert answer.result(timeout=30).raw_output_contents[0] == ROWS.tobytes()


def test_statistics_count_the_answers_of_the_response_cache(tmp_path):
    models.fake(tmp_path / "m", "max_batch_size: 8\nresponse_cache { enable: true }\n" + WITHOUT_WARM_UP)
    with (Server(tmp_path, "--response-cache-bytes=1000000") as server,
          grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel):
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        for _ in range(3):
            assert stub.ModelInfer(request("m", ROWS, "FP32")).raw_output_contents[0] == ROWS.tobytes()
        [stats] = stub.ModelStatistics(pb.ModelStatisticsRequest(name="m")).model_stats
        assert stats.inference_stats.cache_hit.count == 2 and stats.inference_stats.cache_miss.count == 1
        assert stats.inference_stats.success.count == 3 and stats.execution_count == 1


def test_a_taken_port_is_an_error_that_names_it(repository, server):
    done = subprocess.run([RIDGE, "serve", repository, "--http-port", "0", "--metrics-port", "0", "--grpc-port",
                           str(server.ports["grpc"])],
                          capture_output=True, text=True, timeout=60)
    text = " ".join(done.stderr.split())
    assert done.returncode == 3 and str(server.ports["grpc"]) in text and "another program uses the port" in text


def test_at_its_end_the_server_finishes_calls_and_ends_idle_streams(tmp_path):
    models.fake(tmp_path / "slow", WITHOUT_WARM_UP, latency_ms=1000)
    with Server(tmp_path) as server, grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        idle = queue.Queue()
        stream = stub.ModelStreamInfer(iter(idle.get, None))
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
        assert next(watch) == b"\x08\x01"
        busy = queue.Queue()
        answered = stub.ModelStreamInfer(iter(busy.get, None))
        busy.put(request("slow", ROWS, "FP32"))
        running = [stub.ModelInfer.future(request("slow", ROWS, "FP32")) for _ in range(2)]
        time.sleep(0.3)
        begin = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begin < 8
        for call in running:
            assert call.result().raw_output_contents[0] == ROWS.tobytes()
        assert next(answered).infer_response.raw_output_contents[0] == ROWS.tobytes()
        refused(lambda: next(stream), Code.UNAVAILABLE)
        refused(lambda: next(answered), Code.UNAVAILABLE)
        refused(lambda: next(watch), Code.UNAVAILABLE)
        idle.put(None), busy.put(None)


def test_half_a_request_does_not_delay_the_end(repository):
    with Server(repository) as server, socket.create_connection(("127.0.0.1", server.ports["grpc"])) as half:
        half.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        time.sleep(0.2)
        begin = time.monotonic()
        assert server.stop() == 0 and time.monotonic() - begin < 15


def test_no_call_is_lost_at_the_end(repository):
    """Each of many calls under way at SIGTERM is answered, or refused before it was taken."""
    with Server(repository) as server:
        answers, codes = [], set()

        def ask(_):
            with grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}",
                                       options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
                stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
                while True:
                    try:
                        answers.append(stub.ModelInfer(request("identity", ROWS, "FP32"),
                                                       timeout=30).raw_output_contents[0] == ROWS.tobytes())
                    except grpc.RpcError as error:
                        return codes.add((error.code(), error.details()))
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            clients = [threads.submit(ask, i) for i in range(8)]
            wait_until(lambda: len(answers) > 500)
            assert server.stop() == 0
            concurrent.futures.wait(clients, timeout=60)
        assert all(answers) and {code for code, _ in codes} == {Code.UNAVAILABLE}, codes
        assert not [details for _, details in codes if "reset" in details.lower()], codes


PERF = DEPS / "perf_analyzer" / "perf_analyzer"


@pytest.mark.parametrize("arguments", [[], ["--streaming"], ["--streaming", "--shared-memory", "system"],
                                       ["--shared-memory", "system"],
                                       ["--grpc-compression-algorithm", "gzip"], ["--async"]])
def test_perf_analyzer(server, tmp_path, arguments):
    if not PERF.exists():
        pytest.fail(f"{PERF} is missing; ./dev setup installs it")
    report = tmp_path / "report.csv"
    run = subprocess.run(
        [PERF, "-m", "identity", "-u", f"127.0.0.1:{server.ports['grpc']}", "-i", "grpc", "-b", "1",
         "--concurrency-range", "2", "--measurement-mode",
         "count_windows", "--measurement-request-count", "500", "-s", "999", "-r", "10", "-f", report, *arguments],
        capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert float(next(csv.DictReader(report.open()))["Inferences/Second"]) > 0
