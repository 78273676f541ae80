"""Which cores the instances of a model run on: --host-policy and host_policy of an instance group."""

import os
import pathlib
import subprocess

import models
import pytest
from server import RIDGE, Server, fp32, wait_until

CORES = sorted(os.sched_getaffinity(0))
GROUP = 'instance_group {{ kind: KIND_CPU host_policy: "{}" }}\n'
THREADS = 'parameters {{ key: "intra_op_thread_count" value {{ string_value: "{}" }} }}\n'


def repository_with(folder, config, name="m"):
    models.products(folder / name / "1" / "model.onnx")
    (folder / name / "config.pbtxt").write_text(config)
    return folder


def threads_by_cores(server):
    """{cores that they may use: number of threads}."""
    counts = {}
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        cores = next(line for line in (task / "status").read_text().splitlines()
                     if line.startswith("Cpus_allowed_list")).split()[1]
        counts[cores] = counts.get(cores, 0) + 1
    return counts


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
def test_worker_and_engine_threads_of_an_instance_run_on_its_cores(tmp_path):
    repository_with(tmp_path, GROUP.format("low") + GROUP.format("high") + THREADS.format(3))
    with Server(tmp_path, f"--host-policy=low,cpu-cores={CORES[0]}",
                f"--host-policy=high,cpu-cores={CORES[-1]}") as server:
        assert server.infer("m", {"inputs": [fp32("x", [1, 64], [1.0] * 64)]}).status == 200
        # Each binds itself as it starts
        wait_until(lambda: [threads_by_cores(server).get(str(CORES[at])) for at in (0, -1)] == [3, 3])
        assert sum(threads_by_cores(server).values()) > 6, "the others are free"


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
def test_the_policy_of_the_kind_holds_without_a_name_and_divides_its_cores(tmp_path):
    repository_with(tmp_path, "instance_group { count: 1 kind: KIND_CPU }\n")
    with Server(tmp_path, f"--host-policy=cpu,cpu-cores={CORES[0]}") as server:
        wait_until(lambda: threads_by_cores(server).get(str(CORES[0])) == 1)  # one core: one thread


def test_a_name_that_no_option_sets_is_warned_of(tmp_path):
    with Server(repository_with(tmp_path, GROUP.format("other"))) as server:
        assert "has the host policy 'other', which no --host-policy sets" in server.read_log()


def test_a_model_of_openvino_is_refused_with_what_helps(tmp_path):
    repository_with(tmp_path, GROUP.format("low") + 'backend: "openvino"\n')
    with Server(tmp_path, f"--host-policy=low,cpu-cores={CORES[0]}", wait_ready=False) as server:
        reason = server.wait_loaded()["m"]["reason"]
        assert "'low'" in reason and "taskset" in reason, reason


def test_cores_that_the_server_may_not_use_are_refused_with_those_that_it_may(tmp_path):
    repository_with(tmp_path, "")
    ran = subprocess.run([RIDGE, "serve", str(tmp_path), "--host-policy=low,cpu-cores=0-4094"], capture_output=True,
                         text=True)
    said = " ".join(ran.stderr.split())
    assert ran.returncode == 2 and "may not use the cores" in said and said.endswith(str(CORES[-1])), said
