"""`ridge bench grpc://…`: against ridge serve, and against gRPC's own server in Python, which fails as real ones do."""

import concurrent.futures
import json
import threading

import bench_url
import grpc
import models
import pytest
from bench_url import bench, measured
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc


def url_of(server, model):
    return bench_url.url_of(server, model, "grpc")


def test_a_closed_loop_is_what_the_server_counts_too(served):
    result = measured(url_of(served, "identity"), "--concurrency", "1,4", "--seconds", 2)
    assert (result["model"], result["model_version"], result["payload"],
            result["on_this_machine"]) == ("identity", "1", "binary", True)
    assert result["url"] == url_of(served, "identity")
    for point in result["points"]:
        assert point["failed"] == 0 and point["reconnects"] == 0 and point["samples"] > 50
        assert abs(point["server"]["requests"] - point["samples"]) < 0.2 * point["samples"] + 50
        assert point["server"]["queue_ms"] + point["server"]["compute_infer_ms"] < point["latency_ms"]["mean"]
    success = served.statistics("identity")["inference_stats"]["success"]["count"]
    assert success >= sum(point["samples"] for point in result["points"])


def test_both_protocols_send_the_same_tensors_and_get_answers_of_one_size(served):
    sizes = {}
    for scheme, port in (("http", served.port), ("grpc", served.ports["grpc"])):
        result = measured(f"{scheme}://127.0.0.1:{port}/v2/models/identity", "--batch", 4, "--seconds", 1)
        assert result["inputs"][0]["shape"] == [4, 16]
        sizes[scheme] = (result["request_bytes"], result["answer_bytes"])
    tensor = 4 * 16 * 4
    for request, answer in sizes.values():
        assert tensor < request < tensor + 300 and tensor < answer < tensor + 300


def test_an_open_loop_and_a_search(served):
    [point] = measured(url_of(served, "scripted"), "--rate", 50, "--iterations", 60, "--seconds", 60)["points"]
    assert point["rate_per_s"] == 50 and point["samples"] >= 60 and point["latency_ms"]["min"] >= 2
    done = bench(url_of(served, "scripted"), "--p99-ms", 1, "--seconds", 3, "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["search"]["limiter"] == "latency"


def test_what_is_not_there_is_named(served):
    done = bench(url_of(served, "idenity"))
    assert done.returncode == 3 and "it has identity, scripted, steps; did you mean 'identity'?" in done.stderr
    done = bench(f"grpc://127.0.0.1:{served.ports['grpc']}")
    assert done.returncode == 2 and "has 3 models: identity, scripted, steps" in done.stderr
    done = bench(url_of(served, "identity"), "--payload", "json")
    assert done.returncode == 2 and "gRPC has no JSON" in done.stderr


def test_the_other_protocols_port_is_said_to_be_wrong(served):
    done = bench(f"grpc://127.0.0.1:{served.port}/v2/models/identity")
    assert done.returncode == 3 and "not HTTP/2" in done.stderr and "its gRPC port?" in done.stderr, done.stderr
    done = bench(f"http://127.0.0.1:{served.ports['grpc']}/v2/models/identity")
    assert done.returncode == 3 and "its HTTP port?" in done.stderr, done.stderr


# ---------------------------------------------------------------------------------------------------- gRPC's own server


class Other(service_pb2_grpc.GRPCInferenceServiceServicer):
    """A server of the protocol without extensions. `answer(number, context)` may abort, or wait."""

    def __init__(self, answer=lambda number, context: None):
        self.answer, self.requests, self.lock = answer, [], threading.Lock()

    def ServerMetadata(self, request, context):
        return pb.ServerMetadataResponse(name="other", version="1")

    def ModelMetadata(self, request, context):
        if request.name != "m":
            context.abort(grpc.StatusCode.NOT_FOUND, f"no model {request.name}")
        tensor = pb.ModelMetadataResponse.TensorMetadata
        return pb.ModelMetadataResponse(name="m", versions=["1"],
                                        inputs=[tensor(name="x", datatype="FP32", shape=[-1, 2])],
                                        outputs=[tensor(name="y", datatype="FP32", shape=[-1])])

    def ModelInfer(self, request, context):
        with self.lock:
            number = len(self.requests)
            self.requests.append(request)
        self.answer(number, context)
        return pb.ModelInferResponse(model_name="m", model_version="5", raw_output_contents=request.raw_input_contents)


class OtherServer:
    def __init__(self, *arguments):
        self.servicer = Other(*arguments)
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8),
                                  options=[("grpc.max_receive_message_length", -1)])
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(self.servicer, self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")

    def __enter__(self):
        self.server.start()
        return f"grpc://127.0.0.1:{self.port}/v2/models/m"

    def __exit__(self, *_):
        self.server.stop(0)


def test_a_server_of_another_make_is_measured():
    server = OtherServer()
    with server as url:
        result = measured(url, "--batch", 3, "-c", 4, "--seconds", 1)
    assert (result["server"], result["model_version"]) == ("other", "5")
    assert (result["points"][0]["failed"] == 0 and result["points"][0]["samples"] > 0
            and result["points"][0]["server"] is None)
    request = server.servicer.requests[-1]
    assert list(request.inputs[0].shape) == [3, 2] and len(request.raw_input_contents[0]) == 24


def test_large_tensors_pass_whole():
    with OtherServer() as url:
        result = measured(url, "--batch", 2_000_000, "--iterations", 3, "--seconds", 20)
    assert result["request_bytes"] > 16_000_000 and result["answer_bytes"] > 16_000_000
    assert result["points"][0]["failed"] == 0 and result["points"][0]["samples"] >= 3


def test_failures_are_counted_by_their_status():
    def answer(number, context):
        if number % 3 == 2:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full: 100 %")

    with OtherServer(answer) as url:
        [point] = measured(url, "--seconds", 1)["points"]
    assert (list(point["failures"]) == ["RESOURCE_EXHAUSTED"]
            and point["problems"] == {"RESOURCE_EXHAUSTED": "the queue is full: 100 %"})
    assert point["failed"] == pytest.approx(point["samples"] / 2, abs=2)
    with OtherServer() as url:
        done = bench(url.removesuffix("m") + "n")
    assert done.returncode == 3 and "NOT_FOUND no model n" in done.stderr, done.stderr


def test_a_request_that_the_server_refuses_is_wrong_usage():
    with OtherServer(lambda number, context: context.abort(grpc.StatusCode.INVALID_ARGUMENT, "x is odd")) as url:
        done = bench(url, "--seconds", 1)
    assert done.returncode == 2 and "INVALID_ARGUMENT x is odd" in done.stderr, done.stderr


def test_a_request_without_an_answer_times_out():
    held = threading.Event()
    with OtherServer(lambda number, context: number > 0 and held.wait(60)) as url:
        done = bench(url, "--seconds", 1, "--timeout-ms", 50)
        held.set()
    assert done.returncode == 3 and "× timeout, the first with: no answer within 50 ms" in done.stdout
