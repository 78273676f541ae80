"""Contract sections 8 and 9: binary tensors and classification."""

import json
import struct

import numpy as np
import pytest

from server import binary, fp32, split_binary

SIZES = {"BOOL": 1, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8,
         "FP16": 2, "FP32": 4, "FP64": 8, "BF16": 2}
ONES = np.ones(16, np.float32).tobytes()


def tensor(name, shape, datatype, size):
    return {"name": name, "shape": shape, "datatype": datatype, "parameters": {"binary_data_size": size}}


def bytes_block(*elements):
    return b"".join(struct.pack("<I", len(e)) + e for e in elements)


def identity(pad=b"", size=64, blob=ONES, shape=(1, 16), header_length=None, **extra):
    header = json.dumps({"inputs": [tensor("x", list(shape), "FP32", size)], **extra}).encode() + pad
    body, headers = binary(header, blob)
    if header_length is not None:
        headers["Inference-Header-Content-Length"] = str(header_length)
    return body, headers


def refused(answer, *mentions):
    assert answer.status == 400, answer
    assert answer.headers["content-type"] == "application/json"
    for mention in mentions:
        assert mention in answer.json()["error"], answer


@pytest.mark.parametrize("datatype", SIZES)
def test_every_type_survives_bit_for_bit(server, datatype):
    blob = np.random.default_rng(1).integers(0, 2 if datatype == "BOOL" else 256,
                                             24 * SIZES[datatype]).astype(np.uint8).tobytes()
    if datatype == "BOOL":
        blob = bytes(b & 1 for b in blob)
    request = {"id": "b", "parameters": {"binary_data_output": True},
               "inputs": [tensor("x", [2, 12], datatype, len(blob))]}
    answer = server.infer(f"identity_{datatype.lower()}", *binary(request, blob))
    assert answer.status == 200 and answer.headers["content-type"] == "application/octet-stream"
    head, blobs = split_binary(answer)
    assert head["id"] == "b" and head["outputs"][0]["shape"] == [2, 12] and blobs["y"] == blob


def test_bytes_of_any_content_survive(server):
    block = bytes_block(b"", b"\xff\xfe\x00", b"a" * 70000, "ü".encode())
    request = {"parameters": {"binary_data_output": True}, "inputs": [tensor("x", [2, 2], "BYTES", len(block))]}
    assert split_binary(server.infer("identity_bytes", *binary(request, block)))[1]["y"] == block


@pytest.mark.parametrize("padding", range(0, 17))
def test_blobs_at_any_alignment(server, padding):
    body, headers = identity(pad=b" " * padding, outputs=[{"name": "y", "parameters": {"binary_data": True}}])
    assert split_binary(server.infer("identity", body, headers))[1]["y"] == ONES


def test_header_name_in_any_case(server):
    body, headers = identity()
    for name in ("inference-header-content-length", "INFERENCE-HEADER-CONTENT-LENGTH"):
        assert server.infer("identity", body, {name: headers["Inference-Header-Content-Length"]}).status == 200


def test_blobs_come_in_the_order_of_the_inputs(server):
    a, b = np.arange(16, dtype=np.int32), np.full(16, 5, np.int32)
    for first, second, x, y in (("INPUT0", "INPUT1", a, b), ("INPUT1", "INPUT0", b, a)):
        request = {"inputs": [tensor(first, [1, 16], "INT32", 64), tensor(second, [1, 16], "INT32", 64)],
                   "outputs": [{"name": "OUTPUT1", "parameters": {"binary_data": True}}, {"name": "OUTPUT0"}]}
        head, blobs = split_binary(server.infer("simple", *binary(request, x.tobytes(), y.tobytes())))
        assert np.frombuffer(blobs["OUTPUT1"], np.int32).tolist() == (a - b).tolist()
        assert next(o for o in head["outputs"] if o["name"] == "OUTPUT0")["data"] == (a + b).tolist()


def test_json_and_binary_inputs_mix(server):
    request = {"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": [7] * 16},
                          tensor("INPUT1", [1, 16], "INT32", 64)]}
    answer = server.infer("simple", *binary(request, np.full(16, 2, np.int32).tobytes())).json()
    assert {o["name"]: o["data"][0] for o in answer["outputs"]} == {"OUTPUT0": 9, "OUTPUT1": 5}


def test_an_output_may_overrule_the_request_wide_choice(server):
    request = {"parameters": {"binary_data_output": True}, "inputs": [fp32("x", [1, 16], [1] * 16)],
               "outputs": [{"name": "y", "parameters": {"binary_data": False}}]}
    answer = server.infer("identity", request)
    assert answer.json()["outputs"][0]["data"] == [1.0] * 16 and "inference-header-content-length" not in answer.headers


def test_binary_output_for_json_input(server):
    request = {"inputs": [fp32("x", [1, 16], [1] * 16)],
               "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
    assert split_binary(server.infer("identity", request))[1]["y"] == ONES


def test_pure_json_with_a_header_that_covers_it_all(server):
    text = json.dumps({"inputs": [fp32("x", [1, 16], [1] * 16)]})
    answer = server.infer("identity", text, {"Inference-Header-Content-Length": str(len(text))})
    assert answer.status == 200 and "inference-header-content-length" not in answer.headers


def test_zero_elements_in_binary(server):
    request = {"parameters": {"binary_data_output": True}, "inputs": [tensor("x", [1, 0], "FP32", 0)]}
    answer = server.infer("identity_fp32", *binary(request))
    assert answer.status == 200 and answer.body
    head = json.loads(answer.body)
    assert head["outputs"][0]["shape"] == [1, 0]


@pytest.mark.parametrize("length", ["-1", "abc", "", "1e2", "99999999999999999999999", "100000", "1.0", "+5"])
def test_wrong_header_lengths_are_refused(server, length):
    refused(server.infer("identity", *identity(header_length=length)))


@pytest.mark.parametrize("delta", [-1, -10, 1, 3])
def test_header_length_must_be_the_end_of_the_json(server, delta):
    body, headers = identity()
    refused(server.infer("identity", *identity(header_length=int(headers["Inference-Header-Content-Length"]) + delta)))


@pytest.mark.parametrize("blob", [b"", ONES[:-1], ONES + b"\0", ONES * 2])
def test_blobs_that_are_short_or_left_over_are_refused(server, blob):
    refused(server.infer("identity", *identity(blob=blob)))


@pytest.mark.parametrize("size", [0, 60, 63, 65, 68, 128, -64, 64.0 + 0.5, "64", None, True, 2**63, 2**64, 2**64 + 64])
def test_binary_data_size_must_be_the_size_of_the_tensor(server, size):
    refused(server.infer("identity", *identity(size=size)))


@pytest.mark.parametrize("shape", [[2**32, 2**32], [2**63 - 1], [2**62, 4], [1, 2**61], [2**31, 1]])
def test_products_that_overflow_are_refused(server, shape):
    refused(server.infer("identity", *identity(shape=shape)))
    refused(server.infer("identity_fp32", *identity(shape=shape)))
    refused(server.infer("vector", *identity(shape=shape)))


def test_data_and_binary_data_size_together_or_neither_are_refused(server):
    both = {"inputs": [{**tensor("x", [1, 16], "FP32", 64), "data": [1] * 16}]}
    refused(server.infer("identity", *binary(both, ONES)), "x")
    refused(server.infer("identity", {"inputs": [{"name": "x", "shape": [1, 16], "datatype": "FP32"}]}), "x")


def test_binary_size_without_the_header_is_refused(server):
    refused(server.infer("identity", {"inputs": [tensor("x", [1, 16], "FP32", 64)]}))


@pytest.mark.parametrize("block", [b"\x05\0\0\0abc", bytes_block(b"a") + b"\x01", bytes_block(b"a", b"b"),
                                   b"\xff\xff\xff\xff", b"\x01\0\0", b""])
def test_wrong_bytes_blocks_are_refused(server, block):
    refused(server.infer("identity_bytes", *binary({"inputs": [tensor("x", [1, 1], "BYTES", len(block))]}, block)))


def test_raw_requests_take_the_whole_body_as_the_single_input(server):
    answer = server.infer("identity", ONES,
                          {"Inference-Header-Content-Length": "0", "Content-Type": "application/octet-stream"})
    head, blobs = split_binary(answer)
    assert blobs["y"] == ONES and head["outputs"][0]["shape"] == [1, 16]
    answer = server.infer("vector", ONES, {"Inference-Header-Content-Length": "0"})
    assert split_binary(answer)[0]["outputs"][0]["shape"] == [16]
    answer = server.infer("text", b"hello", {"Inference-Header-Content-Length": "0"})
    assert split_binary(answer)[1]["y"] == bytes_block(b"hello")


@pytest.mark.parametrize("model,blob",
                         [("simple", ONES), ("identity", ONES[:-4]), ("identity", ONES * 2), ("vector", b"abc")])
def test_raw_requests_that_do_not_fit_are_refused(server, model, blob):
    refused(server.infer(model, blob, {"Inference-Header-Content-Length": "0"}))


def test_an_empty_body_is_answered(server):
    assert server.infer("vector", b"").status in (200, 400)


# Classification (section 9)

def classify(server, k, values, shape, as_binary=False, model="classes"):
    request = {"inputs": [fp32("x", shape, values)],
               "outputs": [{"name": "y", "parameters": {"classification": k, "binary_data": as_binary}}]}
    return server.infer(model, request)


def test_classification_sorts_and_labels(server):
    output = classify(server, 2, [0.25, 4.5, -1, 3], [1, 4]).json()["outputs"][0]
    assert output == {"name": "y", "datatype": "BYTES", "shape": [1, 2], "data": ["4.500000:1:dog", "3.000000:3:fish"]}


def test_classification_is_per_row_and_bounded_by_the_classes(server):
    output = classify(server, 9, [1, 2, 3, 4, 8, 7, 6, 5], [2, 4]).json()["outputs"][0]
    assert output["shape"] == [2, 4]
    assert [text.split(":")[1] for text in output["data"]] == ["3", "2", "1", "0", "0", "1", "2", "3"]


def test_classification_in_binary_form(server):
    head, blobs = split_binary(classify(server, 1, [1, 2, 3, 4], [1, 4], as_binary=True))
    assert head["outputs"][0]["datatype"] == "BYTES" and blobs["y"] == bytes_block(b"4.000000:3:fish")


def test_classification_flattens_without_labels_and_prints_integers_plain(server):
    output = classify(server, 3, [1, 2, 3, 6, 5, 4], [2, 3], model="fixed").json()["outputs"][0]
    assert output["shape"] == [3] and output["data"] == ["6.000000:3", "5.000000:4", "4.000000:5"]
    request = {"inputs": [{"name": "x", "shape": [1, 3], "datatype": "INT64", "data": [5, -7, 2**62]}],
               "outputs": [{"name": "y", "parameters": {"classification": 3}}]}
    assert server.infer("identity_int64", request).json()["outputs"][0]["data"] == [f"{2**62}:2", "5:0", "-7:1"]


@pytest.mark.parametrize("k", [-1, 1.5, "2", None, 2**70])
def test_wrong_class_counts_are_refused(server, k):
    refused(classify(server, k, [1, 2, 3, 4], [1, 4]))


@pytest.mark.parametrize("datatype,values", [("BYTES", ["a", "b"]), ("BOOL", [True, False])])
def test_types_without_an_order_cannot_be_classified(server, datatype, values):
    refused(server.infer(f"identity_{datatype.lower()}",
                         {"inputs": [{"name": "x", "shape": [1, 2], "datatype": datatype, "data": values}],
                                                         "outputs": [{"name": "y",
                                                                      "parameters": {"classification": 1}}]}))
