"""Contract section 16: sequence batching, by the stock clients over both protocols. ctest: timeout 600"""

import csv
import json
import os
import pathlib
import queue
import subprocess
import threading

import models
import numpy as np
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http
from server import Server, message, wait_until
from tritonclient.utils import InferenceServerException

DEPS = pathlib.Path(os.environ.get("RIDGE_DEPS", pathlib.Path(__file__).resolve().parents[2] / ".deps"))
LONG = 600_000_000  # idle time that no test reaches [us]

ACCUMULATOR = """
max_batch_size: %d
sequence_batching {
  %s
  max_sequence_idle_microseconds: %d
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, %d ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
  state { input_name: "STATE" output_name: "NEXT" data_type: TYPE_INT32 dims: [ 1 ] %s }
}
"""
CONTROLS = """
max_batch_size: 3
sequence_batching {
  direct { }
  max_sequence_idle_microseconds: 600000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 2, 3 ] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: %s } }
}
parameters { key: "ridge_row_check" value { string_value: "off" } }  # it shows the rows of its run
"""


def accumulator(root, name, slots=4, strategy="direct { }", idle=LONG, state="", sign=1, start=1, extra=""):
    models.accumulator(root / name / "1" / "model.onnx", sign)
    (root / name / "config.pbtxt").write_text(ACCUMULATOR % (slots, strategy, idle, start, state) + extra)


def controls(root, name, id_type, model_type):
    models.controls(root / name / "1" / "model.onnx", model_type)
    (root / name / "config.pbtxt").write_text(CONTROLS % id_type)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("sequences")
    accumulator(root, "sum")
    accumulator(root, "instances", slots=2, extra="instance_group { count: 2 }")
    accumulator(root, "few", slots=2)
    accumulator(root, "one", slots=1)
    accumulator(root, "unbatched", slots=1, strategy="oldest { max_candidate_sequences: 1 }")
    accumulator(root, "oldest",
                strategy="oldest { max_candidate_sequences: 3 preferred_batch_size: [ 2, "
                         "4 ] max_queue_delay_microseconds: 1000 }")
    accumulator(root, "idle", slots=1, idle=200_000)
    (root / "initial" / "initial_state").mkdir(parents=True)
    (root / "initial" / "initial_state" / "hundred").write_bytes(np.int32(100).tobytes())
    accumulator(root, "initial", start=0,
                state='initial_state { name: "s" data_type: TYPE_INT32 dims: [ 1 ] data_file: "hundred" }')
    accumulator(root, "reloaded", slots=2)
    controls(root, "controls", "TYPE_UINT64", "UINT64")
    controls(root, "text_controls", "TYPE_STRING", "BYTES")
    controls(root, "small_controls", "TYPE_INT32", "INT32")
    with Server(root, "--model-control-mode", "explicit",
                *(word for path in root.iterdir() for word in ("--load-model", path.name))) as running:
        running.root = root
        yield running


@pytest.fixture(params=["http", "grpc"])
def client(request, server):
    kind = {"http": http, "grpc": grpc}[request.param]

    def connect():
        stock = kind.InferenceServerClient(f"127.0.0.1:{server.ports[request.param]}")
        stock.kind, stock.again = kind, connect
        return stock

    with connect() as stock:
        yield stock


def step(client, model, value, sequence, start=False, end=False, outputs=("OUTPUT",), **options):
    tensor = client.kind.InferInput("INPUT", [1, 1], "INT32")
    tensor.set_data_from_numpy(np.array([[value]], np.int32))
    answer = client.infer(model, [tensor], sequence_id=sequence, sequence_start=start, sequence_end=end,
                          outputs=[client.kind.InferRequestedOutput(name) for name in outputs], **options)
    return int(answer.as_numpy("OUTPUT")[0, 0])


def run(client, model, sequence, values, sums=None):
    """A whole sequence; its sums."""
    answers = [step(client, model, value, sequence, i == 0, i == len(values) - 1) for i, value in enumerate(values)]
    if sums is not None:
        sums[sequence] = answers
    return answers


def in_thread(client, *arguments):
    """run() on a connection of its own."""
    def work():
        with client.again() as own:
            run(own, *arguments)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def together(client, model, sequences, length=12):
    sums = {}
    threads = [in_thread(client, model, name, [n + 1] * length, sums) for n, name in enumerate(sequences)]
    [thread.join() for thread in threads]
    for n, name in enumerate(sequences):
        assert sums[name] == [(n + 1) * i for i in range(1, length + 1)], name


@pytest.mark.parametrize("model", ["sum", "oldest", "instances"])
def test_interleaved_sequences_have_sums_of_their_own(client, model):
    begin = {id: step(client, model, 1, id, start=True) for id in (5, "5", "other")}
    assert set(begin.values()) == {1}  # START keeps the model from looking at its state
    assert step(client, model, 10, 5) == 11 and step(client, model, 20,
                                                     "5") == 21 and step(client, model, 30, "other") == 31
    assert step(client, model, 100, "5", end=True) == 121 and step(client, model, 1, 5, end=True) == 12 and step(
        client, model, 0, "other", end=True) == 31

def test_a_sequence_begins_with_the_initial_state_of_a_file(client):
    assert run(client, "initial", 1, [1, 2]) == [101, 103] and run(client, "initial", 1, [5]) == [105]


@pytest.mark.parametrize("model", ["few", "one", "unbatched", "oldest", "instances"])
def test_more_sequences_than_slots_wait_for_one(client, model):
    together(client, model, [1000 + n for n in range(7)])
    together(client, model, [f"name {n}" for n in range(5)], 4)


def code(error):
    return error.value.status()


@pytest.mark.parametrize("model", ["sum", "oldest"])
def test_a_sequence_that_was_not_begun_is_refused(client, model):
    with pytest.raises(InferenceServerException,
                       match="inference request for sequence 77 to model '.*' must specify the START flag on the first "
                             "request of the sequence") as error:
        step(client, model, 1, 77)
    assert code(error) in ("400", "StatusCode.INVALID_ARGUMENT")
    with pytest.raises(InferenceServerException, match="must specify a non-zero or non-empty correlation ID"):
        step(client, model, 1, 0)
    assert run(client, model, 78, [1, 2]) == [1, 3]
    with pytest.raises(InferenceServerException, match="for sequence 78 .*START"):
        step(client, model, 1, 78)


def test_several_rows_are_refused(client):
    tensor = client.kind.InferInput("INPUT", [2, 1], "INT32")
    tensor.set_data_from_numpy(np.zeros((2, 1), np.int32))
    with pytest.raises(InferenceServerException, match="batch-size 1"):
        client.infer("sum", [tensor], sequence_id=1, sequence_start=True)


def test_start_begins_a_running_sequence_again(client):
    assert step(client, "initial", 1, 9, start=True) == 101 and step(client, "initial", 2, 9) == 103
    assert step(client, "initial", 5, 9, start=True) == 105 and step(client, "initial", 2, 9, end=True) == 107


def test_the_end_frees_the_slot(client):
    assert step(client, "one", 1, 1, start=True) == 1
    waiting = {}
    other = in_thread(client, "one", 2, [10, 10], waiting)
    assert step(client, "one", 1, 1) == 2 and not waiting
    assert step(client, "one", 1, 1, end=True) == 3
    other.join()
    assert waiting[2] == [10, 20]


def test_an_idle_sequence_ends_and_frees_its_slot(client):
    assert step(client, "idle", 1, 1, start=True) == 1
    assert run(client, "idle", 2, [10]) == [10]  # waited for it
    with pytest.raises(InferenceServerException, match="START"):
        step(client, "idle", 1, 1)


def infer_message(model, value, sequence, **flags):
    return message("POST", f"/v2/models/{model}/infer", json.dumps({
        "inputs": [{"name": "INPUT", "shape": [1, 1], "datatype": "INT32", "data": [value]}],
        "parameters": {"sequence_id": sequence, **{f"sequence_{name}": value for name, value in flags.items()}}}))


def test_pipelined_requests_of_a_sequence_keep_their_order(server):
    with server.connect() as connection:
        connection.send(b"".join(infer_message("sum", i, 3, start=i == 1, end=i == 30) for i in range(1, 31)))
        sums = [connection.read().json()["outputs"][0]["data"][0] for _ in range(30)]
    assert sums == [i * (i + 1) // 2 for i in range(1, 31)]


def test_a_client_that_leaves_the_backlog_takes_no_slot(client, server):
    before = server.statistics("one")["inference_stats"]["fail"]["count"]
    assert step(client, "one", 1, 1, start=True) == 1
    with server.connect() as leaving:
        leaving.send(infer_message("one", 1, 2, start=True))
        wait_until(lambda: "nv_inference_pending_request_count{model=\"one\",version=\"1\"} 1" in server.metrics())
    wait_until(lambda: server.statistics("one")["inference_stats"]["fail"]["count"] == before + 1)
    assert step(client, "one", 1, 1, end=True) == 2
    assert run(client, "one", 3, [7]) == [7]


def show(client, model, sequence, **flags):
    tensor = client.kind.InferInput("X", [1, 1], "FP32")
    tensor.set_data_from_numpy(np.zeros((1, 1), np.float32))
    answer = client.infer(model, [tensor], sequence_id=sequence, **flags)
    return {name: answer.as_numpy(name)[0, 0] for name in ("START_OUT", "END_OUT", "ID_OUT", "ROW", "ALL_READY")}


def test_control_tensors_and_rows_by_slot(client):
    assert show(client, "controls", 2**63 - 1, sequence_start=True) == {"START_OUT": 3, "END_OUT": False,
                                                                        "ID_OUT": 2**63 - 1, "ROW": 0, "ALL_READY": 1}
    assert show(client, "controls", 12, sequence_start=True) == {"START_OUT": 3, "END_OUT": False, "ID_OUT": 12,
                                                                 "ROW": 1, "ALL_READY": 1}
    assert show(client, "controls", 13, sequence_start=True)["ROW"] == 2
    assert show(client, "controls", 12) == {"START_OUT": 2, "END_OUT": False, "ID_OUT": 12, "ROW": 1, "ALL_READY": 1}
    assert show(client, "controls", 12, sequence_end=True)["END_OUT"]
    assert show(client, "controls", 14, sequence_start=True)["ROW"] == 1  # the freed one
    for id in (2**63 - 1, 13, 14):
        show(client, "controls", id, sequence_end=True)
    with pytest.raises(InferenceServerException, match="does not fit model 'controls'"):
        show(client, "controls", "text", sequence_start=True)


def test_ids_of_other_types(client):
    assert show(client, "text_controls", "één", sequence_start=True, sequence_end=True)["ID_OUT"].decode() == "één"
    assert show(client, "text_controls", 12, sequence_start=True, sequence_end=True)["ID_OUT"] == b"12"
    assert show(client, "small_controls", 12, sequence_start=True, sequence_end=True)["ID_OUT"] == 12
    with pytest.raises(InferenceServerException, match="does not fit"):
        show(client, "small_controls", 2**31, sequence_start=True)


def test_clients_see_neither_controls_nor_states(client):
    metadata = client.get_model_metadata("sum", **({"as_json": True} if client.kind is grpc else {}))
    assert [tensor["name"] for tensor in metadata["inputs"]] == ["INPUT"]
    assert [tensor["name"] for tensor in metadata["outputs"]] == ["OUTPUT"]
    with pytest.raises(InferenceServerException, match="unexpected inference output 'NEXT'"):
        step(client, "sum", 1, 1, start=True, end=True, outputs=("OUTPUT", "NEXT"))


def test_wrong_parameters_are_refused(server):
    for parameters in ({"sequence_id": -1}, {"sequence_id": 1.5}, {"sequence_id": True},
                       {"sequence_id": 1, "sequence_start": 1}, {"sequence_id": 1, "sequence_end": "yes"}):
        answer = server.infer("sum", {"inputs": [{"name": "INPUT", "shape": [1, 1], "datatype": "INT32", "data": [1]}],
                                      "parameters": parameters})
        assert answer.status == 400 and "sequence_" in answer.json()["error"], parameters


def test_the_example_that_the_server_logs_works(tmp_path):
    accumulator(tmp_path, "sum")
    with Server(tmp_path) as alone:
        alone.wait_log("try: curl")
        line = next(line for line in alone.read_log().splitlines() if "try: curl" in line).split("try: ", 1)[1]
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
        assert json.loads(done.stdout)["outputs"][0]["data"] == [1], done.stdout


def test_a_stream_of_two_sequences(server):
    answers = queue.Queue()
    with grpc.InferenceServerClient(f"127.0.0.1:{server.ports['grpc']}") as stock:
        stock.start_stream(lambda result, error: answers.put((result, error)))
        for i in range(20):
            for sequence, value in ((1001, 1), (1002, -1)):
                tensor = grpc.InferInput("INPUT", [1, 1], "INT32")
                tensor.set_data_from_numpy(np.array([[value]], np.int32))
                stock.async_stream_infer("sum", [tensor], request_id=f"{sequence}", sequence_id=sequence,
                                         sequence_start=i == 0, sequence_end=i == 19)
        sums = {"1001": [], "1002": []}
        for _ in range(40):
            result, error = answers.get(timeout=60)
            assert error is None, error
            sums[result.get_response().id].append(int(result.as_numpy("OUTPUT")[0, 0]))
        stock.stop_stream()
    assert sums == {"1001": list(range(1, 21)), "1002": list(range(-1, -21, -1))}


def test_open_sequences_go_on_in_the_version_that_they_began_in(client, server):
    accumulator(server.root, "reloaded", slots=2)
    client.load_model("reloaded")
    assert step(client, "reloaded", 5, 1, start=True) == 5 and step(client, "reloaded", 1, 2, start=True) == 1
    accumulator(server.root, "reloaded", slots=2, sign=-1)
    client.load_model("reloaded")
    assert step(client, "reloaded", 5, 1) == 10 and run(client, "reloaded", 3, [1, 2]) == [-1, -3]
    accumulator(server.root, "reloaded", slots=1, sign=1)
    client.load_model("reloaded")
    assert step(client, "reloaded", 5, 1, end=True) == 15 and step(client, "reloaded", 1, 2) == 2
    assert step(client, "reloaded", 7, 2, start=True) == 7 and step(client, "reloaded", 7, 2, end=True) == 14
    with pytest.raises(InferenceServerException, match="START"):
        step(client, "reloaded", 5, 1)


PERF = DEPS / "perf_analyzer" / "perf_analyzer"


@pytest.mark.parametrize("arguments", [["-i", "http"], ["-i", "grpc"], ["-i", "grpc", "--streaming"]],
                         ids=["http", "grpc", "stream"])
@pytest.mark.parametrize("model", ["few", "oldest"])
def test_perf_analyzer(server, model, arguments, tmp_path):
    if not PERF.exists():
        pytest.fail(f"{PERF} is missing; ./dev setup installs it")
    before = server.statistics(model)["inference_stats"]
    url = server.ports[arguments[1]]
    done = subprocess.run(
        [PERF, "-m", model, "-u", f"127.0.0.1:{url}", *arguments, "--concurrency-range", "3", "--sequence-length", "6",
         "--measurement-mode", "count_windows",
         "--measurement-request-count", "200", "-s", "999", "-r", "6", "-f", tmp_path / "report.csv"],
         capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = list(csv.DictReader((tmp_path / "report.csv").open()))
    assert float(rows[0]["Inferences/Second"]) > 0, done.stdout
    after = server.statistics(model)["inference_stats"]
    assert after["success"]["count"] > before["success"]["count"], done.stdout
    assert after["fail"]["count"] == before["fail"]["count"], done.stdout
    wait_until(lambda: f"nv_inference_pending_request_count{{model=\"{model}\",version=\"1\"}} 0" in server.metrics())
