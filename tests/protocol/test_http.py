"""Contract section 3: HTTP mechanics, byte by byte."""

import json
import socket
import struct
import threading
import time

import pytest

from server import fp32, message

PATH = "/v2/models/identity/infer"


def body(value=1.0):
    return json.dumps({"inputs": [fp32("x", [1, 16], [value] * 16)]}).encode()


def data(answer):
    assert answer.status == 200, answer
    return answer.json()["outputs"][0]["data"]


def test_connections_are_kept_alive_by_default(server):
    with server.connect() as connection:
        for i in range(20):
            connection.send(message("POST", PATH, body(i)))
            assert data(connection.read()) == [float(i)] * 16


def test_connection_close_and_http_1_0_close_after_the_answer(server):
    with server.connect() as connection:
        connection.send(message("GET", "/v2/health/live", headers={"Connection": "close"}))
        assert connection.read().status == 200
        assert connection.closed_by_server()
    with server.connect() as connection:
        connection.send(message("GET", "/v2/health/live", version="HTTP/1.0"))
        assert connection.read().status == 200
        assert connection.closed_by_server()


def test_pipelined_requests_are_answered_in_order(server):
    with server.connect() as connection:
        connection.send(b"".join(message("POST", PATH, body(i)) for i in range(50)))
        assert [data(connection.read())[0] for _ in range(50)] == [float(i) for i in range(50)]


def test_pipelined_requests_after_a_slow_and_a_wrong_one_are_answered_in_order(server):
    slow = json.dumps({"inputs": [{"name": "n", "shape": [1], "datatype": "INT64", "data": [300]}]})
    with server.connect() as connection:
        connection.send(message("POST", "/v2/models/steps/infer", slow) + message("POST", PATH, b"{broken")
                        + message("POST", PATH, body(3))
                        + message("GET", "/v2/health/live"))
        assert connection.read().json()["outputs"][0]["data"] == [300]
        assert connection.read().status == 400
        assert data(connection.read())[0] == 3.0
        assert connection.read().json() == {"live": True}


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_chunked_bodies_of_any_chunking(server, size):
    content = body(5)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(content[i:i + size]), content[i:i + size])
                      for i in range(0, len(content), size))
    with server.connect() as connection:
        for _ in range(2):
            connection.send(message("POST", PATH, chunks + b"0\r\n\r\n", {"Transfer-Encoding": "chunked"}))
            assert data(connection.read())[0] == 5.0


def test_chunk_extensions_and_trailers(server):
    content = body(6)
    chunks = b"%x;name=value;other=\"q\"\r\n%s\r\n0;last\r\nX-Trailer: 1\r\nX-More: 2\r\n\r\n" % (len(content), content)
    with server.connect() as connection:
        connection.send(message("POST", PATH, chunks, {"Transfer-Encoding": "chunked"})
                        + message("GET", "/v2/health/live"))
        assert data(connection.read())[0] == 6.0
        assert connection.read().json() == {"live": True}


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"3\r\nabcXX"])
def test_broken_chunks_are_400_or_closed(server, chunks):
    with server.connect() as connection:
        connection.send(message("POST", PATH, chunks, {"Transfer-Encoding": "chunked"}))
        try:
            assert connection.read().status == 400
        except (EOFError, ConnectionError):
            pass
    assert server.get("/v2/health/live").status == 200


def test_expect_100_continue_is_answered_at_once(server):
    content = body(7)
    with server.connect() as connection:
        connection.send(message("POST", PATH, b"", {"Expect": "100-continue", "Content-Length": str(len(content))}))
        start = time.monotonic()
        assert connection.read().status == 100
        assert time.monotonic() - start < 10
        connection.send(content)
        assert data(connection.read())[0] == 7.0


@pytest.mark.parametrize("lengths", [["abc"], ["-1"], ["5", "6"], ["99999999999999999999999"], ["1e3"], ["0x10"]])
def test_bad_content_length_is_400_and_closes(server, lengths):
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\n" + "".join(f"Content-Length: {value}\r\n"
                                                            for value in lengths) + "\r\n"
    with server.connect() as connection:
        connection.send(head)
        answer = connection.read()
        assert answer.status in (400, 413) and answer.json()["error"]
        assert connection.closed_by_server()


def test_both_framings_never_become_two_requests(server):
    """Request smuggling: a hidden request behind the chunked end must not be answered as a request of its own."""
    smuggled = b"0\r\n\r\n" + message("GET", "/v2")
    lengths = f"Transfer-Encoding: chunked\r\nContent-Length: {len(smuggled)}"
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{lengths}\r\n\r\n".encode()
    with server.connect() as connection:
        connection.send(head + smuggled)
        assert connection.read().status == 400
        assert connection.closed_by_server()


def test_a_request_line_split_over_packets(server):
    with server.connect() as connection:
        for part in (b"GE", b"T /v2/hea", b"lth/live HT", b"TP/1.1\r", b"\nHost: x\r\n\r", b"\n"):
            connection.send(part)
            time.sleep(0.02)
        assert connection.read().status == 200


def test_head_never_has_a_body_and_the_connection_stays_usable(server):
    with server.connect() as connection:
        connection.send(message("HEAD", "/v2/health/live") + message("HEAD", "/v2/nothing")
                        + message("GET", "/v2/health/live"))
        assert connection.read(head=True).status in (200, 405)
        assert connection.read(head=True).status in (404, 405)
        assert connection.read().json() == {"live": True}


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                                     b"\r\n\r\n\r\n\r\n" * 10, b"A" * 100000,
                                     b"GET / HTTP/1.1\r\nBad Header\r\n\r\n",
                                     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n"])
def test_garbage_harms_no_other_client(server, garbage):
    with server.connect() as connection:
        try:
            connection.send(garbage)
            connection.socket.shutdown(socket.SHUT_WR)
            connection.socket.settimeout(10)
            while connection.socket.recv(65536):
                pass
        except OSError:
            pass
    assert server.get("/v2/health/live").status == 200


def test_a_vanishing_client_harms_no_other_client(server):
    for reset in (False, True):
        for cut in (10, 60, len(message("POST", PATH, body())) - 1, None):
            connection = server.connect()
            connection.send(message("POST", PATH, body())[:cut])
            if reset:
                connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
    assert data(server.post(PATH, body(2)))[0] == 2.0


def test_a_client_that_never_reads_harms_no_other_client(server):
    big = json.dumps({"inputs": [fp32("x", [1, 200000], [1.0] * 200000)]})
    lazy = server.connect()
    lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stop = threading.Event()

    def pour():
        lazy.socket.settimeout(1)
        try:
            while not stop.is_set():
                lazy.send(message("POST", "/v2/models/identity_fp32/infer", big))
        except OSError:
            pass

    thread = threading.Thread(target=pour)
    thread.start()
    try:
        for i in range(20):
            start = time.monotonic()
            assert data(server.post(PATH, body(i)))[0] == float(i)
            assert time.monotonic() - start < 20
    finally:
        stop.set()
        thread.join()
        lazy.close()


def test_a_claimed_size_allocates_nothing(server):
    """Ten clients claim a terabyte each, or the largest size allowed, and send nothing."""
    held = []
    for length in ["1000000000000"] * 5 + [str(60 << 20)] * 5:
        connection = server.connect()
        connection.send(message("POST", PATH, b"", {"Content-Length": length, "Inference-Header-Content-Length": "100"})
                        + b"{")
        held.append(connection)
    pages = int(open(f"/proc/{server.process.pid}/statm").read().split()[1])
    assert pages * 4096 < 600 << 20
    assert data(server.post(PATH, body(2)))[0] == 2.0
    for connection in held:
        connection.close()


def test_bodies_over_the_json_limit_are_refused_without_harm(server):
    with server.connect(timeout=60) as connection:
        connection.send(message("POST", PATH, b"", {"Content-Length": str(65 << 20)}))
        try:
            for _ in range(65):
                connection.send(b" " * (1 << 20))
        except OSError:
            pass
        try:
            assert connection.read().status in (400, 413)
        except (EOFError, ConnectionError):
            pass
    assert server.get("/v2/health/live").status == 200


def test_a_refused_body_never_becomes_that_of_the_next_request(server):
    chunk = b"%x\r\n" % (1 << 20) + body(9) + b" " * ((1 << 20) - len(body(9))) + b"\r\n"
    with server.connect(timeout=60) as connection:
        connection.send(message("POST", PATH, chunk * 65 + b"0\r\n\r\n", {"Transfer-Encoding": "chunked"}))
        assert connection.read().status == 413
        connection.send(message("POST", PATH, b""))
        assert connection.read().status == 400


def test_large_json_bodies_under_the_limit_are_served(server):
    values = [0.5] * 1000000
    answer = server.infer("identity_fp32", {"inputs": [fp32("x", [1, len(values)], values)]})
    assert data(answer) == values
