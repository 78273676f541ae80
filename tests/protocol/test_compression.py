"""Contract section 10: compression both ways."""

import gzip
import json
import zlib

import numpy as np
import pytest

from server import binary, fp32, split_binary

REQUEST = json.dumps({"inputs": [fp32("x", [1, 16], [1.0] * 16)]}).encode()
DECODE = {"gzip": gzip.decompress, "deflate": zlib.decompress}
ENCODE = {"gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("encoding", ENCODE)
def test_compressed_requests(server, encoding):
    answer = server.infer("identity", ENCODE[encoding](REQUEST), {"Content-Encoding": encoding})
    assert answer.status == 200 and answer.json()["outputs"][0]["data"] == [1.0] * 16


@pytest.mark.parametrize("encoding", ENCODE)
def test_the_header_length_counts_uncompressed_bytes(server, encoding):
    blob = np.arange(16, dtype=np.float32).tobytes()
    body, headers = binary({"inputs": [{"name": "x", "shape": [1, 16], "datatype": "FP32",
                                        "parameters": {"binary_data_size": 64}}],
                            "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}, blob)
    answer = server.infer("identity", ENCODE[encoding](body), {**headers, "Content-Encoding": encoding})
    assert split_binary(answer)[1]["y"] == blob


@pytest.mark.parametrize("encoding", DECODE)
def test_compressed_answers_are_labelled(server, encoding):
    answer = server.infer("identity", REQUEST, {"Accept-Encoding": encoding})
    assert answer.headers["content-encoding"] == encoding
    assert json.loads(DECODE[encoding](answer.body))["outputs"][0]["data"] == [1.0] * 16


@pytest.mark.parametrize("accept,expected", [
    ("gzip, deflate", ("gzip", "deflate")), ("gzip;q=0", (None,)), ("gzip;q=0, deflate;q=0.5", ("deflate",)),
    ("identity", (None,)), ("", (None,)),
    ("br", (None,)), ("br, gzip;q=0.1", ("gzip",)), ("*;q=0", (None,)), ("GZIP", ("gzip",)), ("gzip;q=0.0", (None,))])
def test_accept_encoding_is_honoured(server, accept, expected):
    answer = server.infer("identity", REQUEST, {"Accept-Encoding": accept})
    assert answer.headers.get("content-encoding") in expected


def test_nothing_asked_means_identity(server):
    assert "content-encoding" not in server.infer("identity", REQUEST).headers


@pytest.mark.parametrize("encoding", ENCODE)
@pytest.mark.parametrize("damage", ["truncated", "corrupt", "checksum", "garbage", "empty"])
def test_damaged_data_is_refused(server, encoding, damage):
    packed = bytearray(ENCODE[encoding](REQUEST))
    if damage == "truncated":
        packed = packed[:-5]
    elif damage == "corrupt":
        packed[len(packed) // 2] ^= 0xFF
    elif damage == "checksum":
        packed[-1 if encoding == "deflate" else -5] ^= 0xFF
    elif damage == "garbage":
        packed = bytearray(b"this is not compressed at all")
    else:
        packed = bytearray()
    answer = server.infer("identity", bytes(packed), {"Content-Encoding": encoding})
    assert answer.status == 400 and answer.json()["error"]


def test_a_bomb_is_refused_without_its_memory(server):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    bomb = b"".join(packer.compress(zeros) for _ in range(1024)) + packer.flush()
    answer = server.infer("identity", bomb, {"Content-Encoding": "gzip"})
    assert answer.status in (400, 413)
    peak = int(next(line for line in open(f"/proc/{server.process.pid}/status") if line.startswith("VmHWM")).split()[1])
    assert peak < 700 << 10
    assert server.infer("identity", REQUEST).status == 200
