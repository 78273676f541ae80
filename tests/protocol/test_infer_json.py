"""Contract sections 6 and 7: inference in JSON and data types."""

import json
import math
import random
import struct

import models
import numpy as np
import pytest
from server import Server, fp32

PATH = "/v2/models/identity/infer"
INTEGER = {"INT8": (-128, 127), "INT16": (-2**15, 2**15 - 1), "INT32": (-2**31, 2**31 - 1),
           "INT64": (-2**63, 2**63 - 1),
           "UINT8": (0, 255), "UINT16": (0, 2**16 - 1), "UINT32": (0, 2**32 - 1), "UINT64": (0, 2**64 - 1)}


def ask(server, datatype, shape, values, model=None):
    return server.infer(model or f"identity_{datatype.lower()}",
                        {"inputs": [{"name": "x", "shape": shape, "datatype": datatype, "data": values}]})


def values_of(answer):
    assert answer.status == 200, answer
    return answer.json()["outputs"][0]["data"]


def refused(answer, *mentions, status=(400,)):
    assert answer.status in status, answer
    text = answer.json()["error"]
    for mention in mentions:
        assert mention in text, text


def test_response_has_exactly_the_members_of_the_protocol(server):
    answer = server.infer("simple", {"id": "42", "inputs": [
        {"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": list(range(16))},
        {"name": "INPUT1", "shape": [1, 16], "datatype": "INT32", "data": [1] * 16}]}).json()
    assert (answer["model_name"], answer["model_version"], answer["id"]) == ("simple", "1", "42")
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert outputs["OUTPUT0"] == {"name": "OUTPUT0", "datatype": "INT32", "shape": [1, 16],
                                  "data": [i + 1 for i in range(16)]}
    assert outputs["OUTPUT1"]["data"] == [i - 1 for i in range(16)]


def test_id_is_echoed_verbatim_and_absent_when_empty(server):
    for identity in ("a", "ünï\"\\\n\u0000😀", "x" * 5000):
        assert server.infer("identity",
                            {"id": identity, "inputs": [fp32("x", [1, 16], [0] * 16)]}).json()["id"] == identity
    for request in ({"id": ""}, {}):
        assert "id" not in server.infer("identity", {**request, "inputs": [fp32("x", [1, 16], [0] * 16)]}).json()


def test_a_request_without_outputs_gets_all_and_with_outputs_exactly_those(server):
    inputs = [{"name": f"INPUT{i}", "shape": [1, 16], "datatype": "INT32", "data": [i] * 16} for i in (0, 1)]
    def names(outputs):
        answer = server.infer("simple", {"inputs": inputs, **({} if outputs is None else {"outputs": outputs})})
        return [output["name"] for output in answer.json()["outputs"]]
    assert sorted(names(None)) == sorted(names([])) == ["OUTPUT0", "OUTPUT1"]
    assert names([{"name": "OUTPUT1"}]) == ["OUTPUT1"]
    assert sorted(names([{"name": "OUTPUT1"}, {"name": "OUTPUT0"}])) == ["OUTPUT0", "OUTPUT1"]
    assert names([{"name": "OUTPUT1", "parameters": {"unknown": 1.5}}]) == ["OUTPUT1"]


def test_inputs_may_come_in_any_order(server):
    inputs = [{"name": f"INPUT{i}", "shape": [1, 16], "datatype": "INT32", "data": [10 - i] * 16} for i in (1, 0)]
    outputs = {o["name"]: o["data"] for o in server.infer("simple", {"inputs": inputs}).json()["outputs"]}
    assert outputs["OUTPUT1"] == [1] * 16


def test_members_may_come_in_any_order(server):
    body = '{"inputs":[{"data":[%s],"datatype":"FP32","shape":[1,16],"name":"x"}],"id":"z"}' % ",".join(["1"] * 16)
    assert server.post(PATH, body).status == 200
    body = ('{"outputs":[{"name":"y"}],"id":"z","inputs":[{"parameters":{},"data":[%s],"shape":[1,16],"name":"x",'
            '"datatype":"FP32"}]}' % ",".join(["1"] * 16))
    assert server.post(PATH, body).status == 200


def test_nested_and_flat_data_are_equal(server):
    flat = [float(i) for i in range(6)]
    nested = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert values_of(ask(server, "FP32", [2, 3], nested)) == values_of(ask(server, "FP32", [2, 3], flat)) == flat


def test_zero_elements_are_allowed(server):
    answer = ask(server, "FP32", [1, 0], [])
    assert values_of(answer) == [] and answer.json()["outputs"][0]["shape"] == [1, 0]


@pytest.mark.parametrize("count", [0, 15, 17, 32])
def test_element_count_must_equal_the_shape(server, count):
    refused(ask(server, "FP32", [1, 16], [0.0] * count, "identity"), "x")


@pytest.mark.parametrize("datatype", INTEGER)
def test_integers_are_exact_over_their_range(server, datatype):
    low, high = INTEGER[datatype]
    values = [low, high, 0, 1, high - 1, low + 1, high // 3]
    assert values_of(ask(server, datatype, [1, len(values)], values)) == values


@pytest.mark.parametrize("datatype", INTEGER)
@pytest.mark.parametrize("value", ["too low", "too high", 1.5, "text", None, True, [[1]], {}, 1e30])
def test_integers_out_of_range_or_of_another_kind_are_refused(server, datatype, value):
    low, high = INTEGER[datatype]
    value = {"too low": low - 1,
             "too high": high + 1}.get(value, value) if isinstance(value, str) and value != "text" else value
    if value == [[1]]:
        return  # nesting beyond the shape is tolerated as flat data
    refused(ask(server, datatype, [1, 1], [value]), "x")


def test_fp32_and_fp64_survive_bit_for_bit(server):
    generator = random.Random(1)
    doubles, floats = [0.1, 1e-320, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3], [0.1, 1e-45, 3.4028234663852886e38,
                                                                                   -0.0]
    while len(doubles) < 2000:
        value = struct.unpack("<d", generator.randbytes(8))[0]
        if math.isfinite(value):
            doubles.append(value)
    while len(floats) < 2000:
        value = struct.unpack("<f", generator.randbytes(4))[0]
        if math.isfinite(value):
            floats.append(value)
    sent = values_of(ask(server, "FP64", [1, len(doubles)], doubles))
    assert struct.pack(f"<{len(doubles)}d", *sent) == struct.pack(f"<{len(doubles)}d", *doubles)
    exact = [float(np.float32(value)) for value in floats]
    sent = values_of(ask(server, "FP32", [1, len(exact)], exact))
    assert np.array(sent, np.float32).tobytes() == np.array(exact, np.float32).tobytes()


def test_integers_are_fine_for_floating_point_and_overflow_is_not_silent(server):
    assert values_of(ask(server, "FP32", [1, 2], [1, -7])) == [1.0, -7.0]
    answer = ask(server, "FP32", [1, 1], [1e300])
    assert answer.status == 400 or not math.isfinite(float(answer.json()["outputs"][0]["data"][0]))


@pytest.mark.parametrize("value", ["1", None, True, {}])
def test_floating_point_refuses_other_kinds(server, value):
    refused(ask(server, "FP32", [1, 1], [value]), "x")
    refused(ask(server, "FP64", [1, 1], [value]), "x")


def test_bool_takes_true_and_false(server):
    assert values_of(ask(server, "BOOL", [1, 3], [True, False, True])) == [True, False, True]
    refused(ask(server, "BOOL", [1, 1], ["true"]), "x")


def test_bytes_carry_any_unicode(server):
    values = ["", "plain", "a\u0000b", "ü€😀", "\"quotes\" \\ \n\t\u0001", "\U0010ffff"]
    assert values_of(ask(server, "BYTES", [1, len(values)], values)) == values
    refused(ask(server, "BYTES", [1, 1], [1]), "x")


def test_bytes_that_are_not_utf8_cannot_be_answered_as_json(server):
    from server import binary
    body, headers = binary({"inputs": [{"name": "x", "shape": [1, 1], "datatype": "BYTES",
                                        "parameters": {"binary_data_size": 6}}]}, b"\x02\0\0\0\xff\xfe")
    answer = server.infer("identity_bytes", body, headers)
    assert answer.status >= 400 and answer.json()["error"]


@pytest.mark.parametrize("datatype", ["FP16", "BF16"])
def test_half_types_have_no_json_form(server, datatype):
    refused(ask(server, datatype, [1, 2], [1.0, 2.0]))
    from server import binary
    body, headers = binary({"inputs": [{"name": "x", "shape": [1, 1], "datatype": datatype,
                                        "parameters": {"binary_data_size": 2}}]}, b"\0\x3c")
    refused(server.infer(f"identity_{datatype.lower()}", body, headers))


def test_not_a_number_never_breaks_the_body(server):
    from server import binary
    blob = np.array([np.nan, np.inf, -np.inf, 1], np.float32).tobytes()
    body, headers = binary({"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32",
                                        "parameters": {"binary_data_size": 16}}]}, blob)
    answer = server.infer("identity_fp32", body, headers)
    answer.json()  # python's reader also takes NaN and Infinity
    assert answer.status in (200, 400, 500)


@pytest.mark.parametrize("datatype", ["fp32", "TYPE_FP32", "FLOAT", "", "FP64", "INT32"])
def test_datatype_must_match_the_config_exactly(server, datatype):
    answer = server.infer("identity",
                          {"inputs": [{"name": "x", "shape": [1, 16], "datatype": datatype, "data": [0] * 16}]})
    refused(answer)


@pytest.mark.parametrize("shape", [[16], [1, 15], [1, 1, 16], [], [1, -16], [-1, 16], [1.5, 16], ["1", 16], [1, None],
                                   None, 16, [2**31, 16], [2**32, 2**32], [2**63 - 1], [2**63, 1], [1e30, 1]])
def test_wrong_shapes_are_refused_without_allocating(server, shape):
    refused(ask(server, "FP32", shape, [0.0, 1.0], "identity"))
    refused(ask(server, "FP32", shape, [0.0] * 16, "identity"))


def test_batch_must_lie_between_one_and_the_maximum(server):
    refused(ask(server, "FP32", [0, 16], [], "identity"))
    refused(ask(server, "FP32", [9, 16], [0.0] * 144, "identity"), "8")
    assert ask(server, "FP32", [8, 16], [0.0] * 128, "identity").status == 200


def test_batch_must_be_equal_in_all_inputs(server):
    refused(server.infer("simple",
                         {"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": [0] * 16},
                                               {"name": "INPUT1", "shape": [2, 16], "datatype": "INT32",
                                                "data": [0] * 32}]}))


def test_missing_unknown_and_duplicate_names_are_named(server):
    one = {"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": [0] * 16}
    two = dict(one, name="INPUT1")
    refused(server.infer("simple", {"inputs": [one]}), "INPUT1")
    refused(server.infer("simple", {"inputs": [one, two, dict(one, name="INPUT2")]}), "INPUT2")
    refused(server.infer("simple", {"inputs": [one, one, two]}), "INPUT0")
    refused(server.infer("simple", {"inputs": [one, two], "outputs": [{"name": "OUTPUT9"}]}), "OUTPUT9")
    refused(server.infer("simple", {"inputs": [one, two], "outputs": [{"name": "OUTPUT0"}, {"name": "OUTPUT0"}]}),
            "OUTPUT0")


def test_optional_inputs_may_be_left_out(tmp_path):
    models.optional_sum(tmp_path / "optional" / "1" / "model.onnx")
    (tmp_path / "optional" / "config.pbtxt").write_text(
        'input [{ name: "x" data_type: TYPE_FP32 dims: [4] }, { name: "bias" data_type: TYPE_FP32 dims: [4] optional: '
        'true }]\noutput [{ name: "y" data_type: TYPE_FP32 dims: [4] }]\n')
    x = fp32("x", [4], [1, 2, 3, 4])
    with Server(tmp_path) as server:
        assert values_of(server.infer("optional", {"inputs": [x]})) == [101, 102, 103, 104]
        assert values_of(server.infer("optional", {"inputs": [x, fp32("bias", [4], [1, 1, 1, 1])]})) == [2, 3, 4, 5]
        refused(server.infer("optional", {"inputs": []}), "x")


def test_reshape_maps_between_client_and_model_shapes(server):
    answer = server.infer("reshape", {"inputs": [fp32("x", [3, 1], [1, 2, 3])]}).json()["outputs"][0]
    assert answer["shape"] == [3, 1] and answer["data"] == [-1, -2, -3]


def test_unknown_parameters_are_accepted_at_every_level(server):
    parameters = {"text": "x", "number": 1.5, "flag": True, "whole": 7}
    answer = server.infer("identity", {"parameters": parameters,
                                       "inputs": [{**fp32("x", [1, 16], [0] * 16), "parameters": parameters}],
                                       "outputs": [{"name": "y", "parameters": parameters}]})
    assert answer.status == 200


def test_json_outputs_have_no_parameters_member(server):
    for outputs in (None, [{"name": "y"}], [{"name": "y", "parameters": {"binary_data": False}}]):
        request = {"inputs": [fp32("x", [1, 16], [0] * 16)], **({} if outputs is None else {"outputs": outputs})}
        output = server.infer("identity", request).json()["outputs"][0]
        assert "parameters" not in output


def test_answers_of_concurrent_requests_are_never_mixed_up(server):
    import threading
    wrong = []

    def client(number):
        with server.connect() as connection:
            for i in range(100):
                value = float(number * 1000 + i)
                from server import message
                connection.send(message("POST", PATH,
                                        json.dumps({"id": str(value), "inputs": [fp32("x", [1, 16], [value] * 16)]})))
                answer = connection.read().json()
                if answer["id"] != str(value) or answer["outputs"][0]["data"] != [value] * 16:
                    wrong.append((value, answer))

    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong
