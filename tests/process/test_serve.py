"""The server as a process: start, kill, drain, crowds, and what is wrong around it."""

import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time

import models
import pytest
from server import RIDGE, Server, fp32, message, wait_until

INFER = "/v2/models/identity/infer"
ONE = json.dumps({"inputs": [fp32("x", [1, 16], [1.0] * 16)]})


# Each run of a scripted model takes its latency, the runs that warm it up too.
WITHOUT_WARM_UP = 'parameters { key: "ridge_warmup" value { string_value: "off" } }\n'


def run(*arguments, timeout=60, **options):
    return subprocess.run([RIDGE, "serve", *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          **options)


def load(server, stop, statuses, path=INFER, body=ONE):
    while not stop.is_set():
        try:
            with server.connect() as connection:
                while not stop.is_set():
                    connection.send(message("POST", path, body))
                    statuses.append(connection.read().status)
        except (OSError, EOFError):
            statuses.append("gone")
            time.sleep(0.01)


def await_answers(statuses, count):
    wait_until(lambda: statuses.count(200) >= count)


def in_flight(server, recorded):
    """A connection with a request that `server` has accepted: it records the inputs of those in the folder
    `recorded`."""
    connection = server.connect()
    connection.send(message("POST", "/v2/models/slow/infer", ONE))
    wait_until(lambda: list(recorded.glob("slow/request-*.npz")))
    return connection


def test_while_it_drains_requests_are_answered_and_it_is_not_ready(repository):
    with Server(repository, "--drain-secs=5") as server, server.connect() as kept:
        kept.send(message("POST", INFER, ONE))
        assert kept.read().status == 200
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.get("/v2/health/ready").status == 503)
        for connection in (kept, server.connect()):
            headers = {}
            while "connection" not in headers:  # the model is not ready a moment before the connections know
                connection.send(message("POST", INFER, ONE))
                answer = connection.read()
                assert answer.status == 200
                headers = answer.headers
            assert headers["connection"] == "close"
            assert connection.closed_by_server()
        assert server.process.wait(60) == 0 and time.monotonic() - begin > 4.9


def test_a_batch_that_forms_runs_at_once_when_the_server_ends(repository, tmp_path):
    models.fake(repository / "slow",
                "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 60000000 }\n" + WITHOUT_WARM_UP)
    with Server(repository, f"--record={tmp_path}/recorded") as server:
        waiting = in_flight(server, tmp_path / "recorded")
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert waiting.read().status == 200
        assert server.process.wait(60) == 0 and time.monotonic() - begin < 30


def test_a_client_that_stopped_within_its_request_does_not_hold_up_the_end(repository):
    with Server(repository) as server, server.connect() as stopped:
        stopped.deliver(message("POST", INFER, ONE)[:-20])
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0 and time.monotonic() - begin < 20


def test_the_engine_stores_and_reports_nothing(repository, tmp_path):
    cache = tmp_path / "cache"
    with Server(repository, environment={"XDG_CACHE_HOME": str(cache), "HOME": str(tmp_path / "home")}) as server:
        assert server.post(INFER, ONE).status == 200
    assert [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name or "Microsoft" in path.name] == []


def test_sigterm_under_load_delivers_what_is_in_flight_refuses_the_rest_and_exits_0(repository, tmp_path):
    models.fake(repository / "slow", WITHOUT_WARM_UP, latency_ms=4000)
    with Server(repository, f"--record={tmp_path}/recorded") as server:
        slow, idle = in_flight(server, tmp_path / "recorded"), server.connect()
        stop, statuses = threading.Event(), []
        clients = [threading.Thread(target=load, args=(server, stop, statuses)) for _ in range(4)]
        [c.start() for c in clients]
        await_answers(statuses, 20)
        begin = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert slow.read().status == 200, "the request in flight is answered"
        assert server.process.wait(60) == 0
        assert time.monotonic() - begin < 25, "well before --exit-timeout-secs"
        assert idle.closed_by_server()
        stop.set()
        [c.join() for c in clients]
        assert set(statuses) <= {200, 503, "gone"} and statuses.count(200) > 10


def test_during_the_drain_the_server_is_not_ready_and_new_requests_get_503(repository, tmp_path):
    models.fake(repository / "slow", WITHOUT_WARM_UP, latency_ms=5000)
    with Server(repository, f"--record={tmp_path}/recorded") as server:
        second, probe = server.connect(), server.connect()
        probe.send(message("GET", "/v2/health/live"))
        assert probe.read().status == 200
        slow = in_flight(server, tmp_path / "recorded")
        # a request whose first half came before the signal keeps this connection from being idle
        second.deliver(message("POST", INFER, ONE)[:40])
        server.process.send_signal(signal.SIGTERM)
        assert probe.closed_by_server(), "it is idle, so the drain ends it"
        second.send(message("POST", INFER, ONE)[40:])
        answer = second.read()
        assert answer.status == 503 and answer.json()["error"]
        assert slow.read().status == 200
        assert server.process.wait(60) == 0


def test_idle_keep_alive_connections_do_not_delay_the_exit(repository):
    with Server(repository) as server:
        held = [server.connect() for _ in range(50)]
        for connection in held:
            connection.send(message("GET", "/v2/health/live"))
            connection.read()
        begin = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begin < 15, "well before --exit-timeout-secs"


def test_idle_connections_are_closed_after_their_time(repository):
    with Server(repository, "--http-idle-timeout-secs=1") as server, server.connect() as idle:
        idle.send(message("POST", INFER, ONE))
        assert idle.read().status == 200
        assert idle.closed_by_server()


def test_sigint_stops_like_sigterm(repository):
    with Server(repository) as server:
        assert server.stop(signal.SIGINT) == 0


def again_at(port, repository):
    """A server on that port, which another program of this machine may have got for a moment."""
    for _ in range(5):
        try:
            return Server(repository, "--http-port", port)
        except AssertionError as failure:
            if f"{port}" not in str(failure):
                raise
            time.sleep(1)
    return Server(repository, "--http-port", port)


def test_sigkill_under_load_leaves_a_repository_and_port_that_serve_again(repository):
    with Server(repository, check_exit=False) as server:
        stop, statuses = threading.Event(), []
        clients = [threading.Thread(target=load, args=(server, stop, statuses)) for _ in range(4)]
        [c.start() for c in clients]
        await_answers(statuses, 20)
        server.process.kill()
        server.process.wait()
        port = server.port
        stop.set()
        [c.join() for c in clients]
        assert 200 in statuses
    with again_at(port, repository) as server:
        assert server.port == port and server.post(INFER, ONE).status == 200


def test_a_second_signal_exits_at_once(repository, tmp_path):
    models.fake(repository / "slow", WITHOUT_WARM_UP, latency_ms=600_000)
    with Server(repository, "--exit-timeout-secs=600", f"--record={tmp_path}/recorded", check_exit=False) as server:
        slow = in_flight(server, tmp_path / "recorded")
        server.process.send_signal(signal.SIGTERM)
        server.wait_log("a second signal exits at once")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) != 0


def test_a_warm_up_that_does_not_end_holds_up_neither_other_loads_nor_the_end(repository):
    models.endless(repository / "endless" / "1" / "model.onnx")
    with Server(repository, "--model-control-mode=explicit") as server, server.connect() as hung:
        hung.send(message("POST", "/v2/repository/models/endless/load", "{}"))
        await_loading(server, "endless")
        assert server.post("/v2/repository/models/identity/load", "{}").status == 200
        assert server.post(INFER, ONE).status == 200
        begin = time.monotonic()
        assert server.stop() == 0 and time.monotonic() - begin < 20


def test_a_warm_up_that_does_not_end_fails_at_its_limit(repository):
    models.endless(repository / "endless" / "1" / "model.onnx")
    with Server(repository, "--model-control-mode=explicit", "--warmup-timeout-secs=1") as server:
        answer = server.post("/v2/repository/models/endless/load", "{}")
        assert answer.status == 503 and "--warmup-timeout-secs" in answer.json()["error"]


def test_a_run_that_would_not_end_is_broken_off_at_its_limit_and_the_model_serves_on(repository):
    models.endless(repository / "endless" / "1" / "model.onnx")
    (repository / "endless" / "config.pbtxt").write_text(WITHOUT_WARM_UP)
    with Server(repository, "--run-timeout-secs=0.5") as server:
        for _ in range(2):
            answer = server.post("/v2/models/endless/infer", json.dumps({"inputs": [fp32("x", [1], [1.0])]}))
            assert answer.status == 503 and "--run-timeout-secs" in answer.json()["error"], answer
        assert server.get("/v2/models/endless/ready").status == 200
        assert server.post(INFER, ONE).status == 200


def test_an_instance_that_hangs_is_given_up_with_its_version(repository):
    models.fake(repository / "hung", WITHOUT_WARM_UP, latency_ms=1_000_000)
    with Server(repository, "--run-timeout-secs=0.5", "--exit-timeout-secs=5") as server:
        answer = server.post("/v2/models/hung/infer", ONE)
        assert answer.status == 503 and "--run-timeout-secs" in answer.json()["error"], answer
        assert server.get("/v2/models/hung/ready").status == 503
        reason = {entry["name"]: entry for entry in server.post("/v2/repository/index").json()}["hung"]["reason"]
        assert "--run-timeout-secs" in reason
        assert 'ridge_model_given_up{model="hung"} 1' in server.metrics()
        assert server.post(INFER, ONE).status == 200


def test_a_log_that_is_not_read_holds_up_no_load(repository):
    pipe = os.pipe()
    filled = b"." * 4096
    os.set_blocking(pipe[1], False)
    try:
        while True:
            os.write(pipe[1], filled)
    except BlockingIOError:
        os.set_blocking(pipe[1], True)
    with Server(repository, "--model-control-mode=explicit", "--load-model=identity", log_to=pipe[1]) as server:
        for _ in range(60):
            assert server.post("/v2/repository/models/identity/load", "{}").status == 200
            assert server.post("/v2/repository/models/identity/unload", "{}").status == 200
    for end in pipe:
        os.close(end)


def test_requests_that_would_not_end_are_refused_at_the_exit_timeout(repository):
    models.endless(repository / "endless" / "1" / "model.onnx")
    (repository / "endless" / "config.pbtxt").write_text(WITHOUT_WARM_UP)
    with Server(repository, "--exit-timeout-secs=1",
                check_exit=False) as server, server.connect() as first, server.connect() as second:
        for connection in (first, second):
            connection.send(message("POST", "/v2/models/endless/infer",
                                    json.dumps({"inputs": [fp32("x", [1], [1.0])]})))
        wait_until(lambda: 'nv_inference_pending_request_count{model="endless",version="1"} 1' in server.metrics())
        server.process.send_signal(signal.SIGTERM)
        assert {first.read().status, second.read().status} == {503}
        assert server.process.wait(20) == 3


def test_a_model_that_fails_to_load_does_not_harm_one_that_works(repository):
    broken = repository / "broken" / "1"
    broken.mkdir(parents=True)
    (broken / "model.onnx").write_bytes((repository / "identity" / "1" / "model.onnx").read_bytes()[:50])
    with Server(repository, wait_ready=False) as server:
        index = server.wait_loaded()
        assert server.post(INFER, ONE).status == 200
        assert index["broken"]["state"] == "UNAVAILABLE" and "model.onnx" in index["broken"]["reason"]
        assert server.get("/v2/health/ready").status == 503
        assert server.post("/v2/models/broken/infer", ONE).status in (404, 503)


def test_with_exit_on_error_a_model_that_fails_to_load_ends_the_start(repository):
    (repository / "identity" / "config.pbtxt").write_text("oops")
    done = run(repository, "--http-port", 0, "--grpc-port", 0, "--metrics-port", 0, "--exit-on-error=true")
    assert done.returncode == 3 and "identity" in done.stderr and "config.pbtxt" in done.stderr


def slow_to_load(folder, load_ms):
    """A model whose engine takes that long to open it, which nothing can interrupt."""
    models.fake(folder, load_ms=load_ms)


def slow_to_warm_up(folder):
    """A model that runs ten thousand samples of 100 ms each before it is ready."""
    models.fake(folder,
                'max_batch_size: 4\nmodel_warmup [{ name: "long" batch_size: 1 count: '
                '10000 inputs { key: "x" value { data_type: TYPE_FP32 '
                'dims: [16] zero_data: true } } }]\n', latency_ms=100)


def await_loading(server, model):
    for _ in range(600):
        if any(e["name"] == model and e.get("state") == "LOADING" for e in server.post("/v2/repository/index").json()):
            return
        time.sleep(0.05)
    raise AssertionError(f"{model} was never LOADING:\n{server.read_log()}")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("mode", ["none", "explicit", "poll"])
def test_a_stop_breaks_off_the_loading_and_exits_0(repository, mode, stop):
    """Under the thread sanitizer a loading thread that is left behind changes the exit status."""
    slow_to_warm_up(repository / "slow")
    arguments = [f"--model-control-mode={mode}"] + ["--load-model=*"] * (mode == "explicit")
    with Server(repository, *arguments, "--exit-timeout-secs=600", wait_ready=False) as server:
        await_loading(server, "slow")
        assert server.stop(stop, seconds=60) == 0
        assert "the load of model 'slow' was cancelled" in server.read_log()
        assert "could not be loaded" not in server.read_log()


def test_a_stop_breaks_off_a_load_that_was_asked_for(repository):
    slow_to_warm_up(repository / "slow")
    with Server(repository, "--model-control-mode=explicit",
                "--exit-timeout-secs=600") as server, server.connect(timeout=60) as caller:
        caller.send(message("POST", "/v2/repository/models/slow/load", b"{}"))
        await_loading(server, "slow")
        server.process.send_signal(signal.SIGTERM)
        answer = caller.read()
        assert answer.status == 503 and "shutting down" in answer.json()["error"]
        assert server.process.wait(60) == 0


@pytest.mark.parametrize("mode", ["none", "poll"])
def test_a_load_that_cannot_be_broken_off_delays_the_exit_no_longer_than_the_patience(repository, mode):
    # The thread that is cut off with the process is what the test is about, so the thread sanitizer does not report it.
    environment = {"TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0"}
    arguments = [f"--model-control-mode={mode}", "--repository-poll-secs=0.1", "--exit-timeout-secs=1"]
    if mode == "none":
        slow_to_load(repository / "slow", 3600_000)
    with Server(repository, *arguments, wait_ready=mode == "poll", environment=environment) as server:
        if mode == "poll":
            slow_to_load(repository.parent / "new", 3600_000)
            (repository.parent / "new").rename(repository / "slow")
        await_loading(server, "slow")
        assert server.stop(seconds=60) == 0
        assert "--exit-timeout-secs" in server.read_log()


def test_a_name_to_load_that_is_nowhere_ends_the_start_with_exit_on_error(repository):
    done = run(repository, "--http-port", 0, "--grpc-port", 0, "--metrics-port", 0, "--model-control-mode=explicit",
               "--load-model=identiy", "--exit-on-error=true")
    assert (done.returncode == 3 and "'identiy'" in done.stderr and "did you mean 'identity'" in done.stderr
            and "'steps'" in done.stderr)


def test_a_name_to_load_that_is_nowhere_is_shown_and_keeps_the_server_unready(repository):
    arguments = ["--model-control-mode=explicit", "--load-model=identity", "--load-model=typo"]
    with Server(repository, *arguments, wait_ready=False) as server:
        server.wait_log("not all models could be loaded")
        assert server.post(INFER, ONE).status == 200
        index = {e["name"]: e for e in server.post("/v2/repository/index").json()}
        assert index["typo"]["state"] == "UNAVAILABLE" and "'identity'" in index["typo"]["reason"]
        assert server.get("/v2/health/ready").status == 503 and server.get("/v2/models/typo/ready").status == 503
        assert server.post("/v2/repository/models/typo/unload", b"{}").status == 200
        wait_until(lambda: server.get("/v2/health/ready").status == 200)  # an operator has taken it back


def test_a_missing_repository_is_an_error_that_names_it(tmp_path):
    done = run(tmp_path / "nowhere", "--http-port", 0, "--grpc-port", 0, "--metrics-port", 0)
    assert done.returncode not in (0, 1, 2) and "nowhere" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("flag", ["--http-port", "--grpc-port", "--metrics-port"])
def test_a_taken_port_is_an_error_that_names_it(repository, flag):
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        ports = {"--http-port": 0, "--grpc-port": 0, "--metrics-port": 0, flag: taken.getsockname()[1]}
        done = run(repository, *[part for pair in ports.items() for part in pair])
        assert done.returncode not in (0, 1, 2) and str(taken.getsockname()[1]) in done.stderr


def test_wrong_usage_is_exit_2(tmp_path):
    for arguments in ([], [tmp_path, "--no-such-flag"], [tmp_path, "--http-port", "notaport"]):
        assert run(*arguments).returncode == 2, arguments


def test_a_read_only_repository_is_served(repository):
    # root may write anywhere, so the whole tree is also checked to be untouched
    before = sorted((str(p), p.stat().st_mtime_ns) for p in repository.rglob("*"))
    for path in [repository, *repository.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with Server(repository) as server:
            assert server.post(INFER, ONE).status == 200
    finally:
        for path in [repository, *repository.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert sorted((str(p), p.stat().st_mtime_ns) for p in repository.rglob("*")) == before


def test_an_empty_repository_is_ready_and_serves_nothing_where_models_may_come_later(tmp_path):
    with Server(tmp_path, "--model-control-mode=explicit") as server:
        assert server.post(INFER, ONE).status == 404


def test_a_thousand_idle_connections_disturb_no_other_client(repository):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with Server(repository) as server:
        held = [server.connect() for _ in range(1000)]
        times = []
        for i in range(50):
            start = time.monotonic()
            assert server.post(INFER, ONE).status == 200
            times.append(time.monotonic() - start)
        assert sorted(times)[25] < 1
        for connection in held[::100]:
            connection.send(message("GET", "/v2/health/live"))
            assert connection.read().status == 200
        [c.close() for c in held]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_running_out_of_descriptors_is_survived(repository):
    """More connections than the process may open: the surplus waits or fails, and the server serves again
    afterwards."""
    with Server(repository) as server:
        subprocess.run(["prlimit", "--pid", str(server.process.pid), "--nofile=100:100"], check=True)
        held = []
        for _ in range(150):
            try:
                held.append(server.connect(timeout=5))
            except OSError:
                break
        server.wait_log("cannot accept connections")
        [c.close() for c in held]

        def serves():
            try:
                return server.post(INFER, ONE).status == 200
            except (OSError, EOFError):
                return False

        wait_until(serves)


def test_a_client_that_sends_a_byte_at_a_time_is_served_or_dropped_and_delays_no_other_client(repository):
    with Server(repository) as server:
        data = message("GET", "/v2/health/live")
        outcome = []

        def dribble():
            connection = server.connect()
            try:
                for i in range(len(data)):
                    connection.send(data[i:i + 1])
                    time.sleep(0.1 if i < 60 else 0)
                outcome.append(connection.read().status)
            except (OSError, EOFError):
                outcome.append("dropped")

        dribblers = [threading.Thread(target=dribble) for _ in range(20)]
        [d.start() for d in dribblers]
        times = []
        for _ in range(100):
            start = time.monotonic()
            assert server.post(INFER, ONE).status == 200
            times.append(time.monotonic() - start)
        [d.join() for d in dribblers]
        assert sorted(times)[50] < 1 and set(outcome) <= {200, 408, "dropped"}


def test_a_client_that_never_finishes_its_request_is_dropped_in_time(repository):
    with Server(repository, "--http-request-timeout-secs=2") as server:
        head, body = server.connect(), server.connect()
        head.send(b"GET /v2/health/li")
        body.send(message("POST", INFER, ONE)[:-10])
        start = time.monotonic()
        for connection in (head, body):
            connection.socket.settimeout(40)
            got = connection.socket.recv(4096)
            assert got == b"" or b" 408 " in got.split(b"\r\n")[0] or b" 400 " in got.split(b"\r\n")[0]
        assert time.monotonic() - start < 30
        assert server.post(INFER, ONE).status == 200


def test_the_log_goes_to_stderr_and_stdout_stays_clean(repository, tmp_path):
    port_file = tmp_path / "ports"
    with open(tmp_path / "out", "wb") as out, open(tmp_path / "err", "wb") as err:
        process = subprocess.Popen([RIDGE, "serve", repository, "--http-port=0", "--grpc-port=0", "--metrics-port=0",
                                    f"--port-file={port_file}"], stdout=out, stderr=err)
        for _ in range(1200):
            if port_file.exists() and "identity" in (tmp_path / "err").read_text():
                break
            time.sleep(0.05)
        process.terminate()
        assert process.wait(60) == 0
    assert "identity" in (tmp_path / "err").read_text()


def test_kserve_s_command_line_is_accepted(repository):
    arguments = ["--allow-http=true", "--allow-grpc=false", "--grpc-port=9000", "--strict-model-config=false",
                 "--log-verbose=0"]
    port_file = repository.parent / "ports"
    process = subprocess.Popen([RIDGE, "serve", f"--model-store={repository}", "--http-port=0", "--grpc-port=0",
                                "--metrics-port=0", f"--port-file={port_file}", *arguments],
                               stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if port_file.exists():
                break
            assert process.poll() is None
            time.sleep(0.05)
        assert port_file.exists()
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_memory_does_not_grow_with_requests(repository):
    def resident(server):
        return int(open(f"/proc/{server.process.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if any(mark in pathlib.Path(RIDGE).read_bytes() for mark in (b"__asan_init", b"__tsan_init")):
        pytest.skip("a sanitizer keeps freed memory back, so growth says nothing")
    big = json.dumps({"inputs": [fp32("x", [4, 16], [1.0] * 64)]})
    with Server(repository) as server, server.connect() as connection:
        def ask(count):
            for _ in range(count):
                connection.send(message("POST", INFER, big))
                assert connection.read().status == 200

        ask(2000)
        before = resident(server)
        ask(8000)
        assert resident(server) - before < 16 << 20
