#!/usr/bin/env python3
"""The share of the tuned throughput that serving reaches: a repository that `ridge tune` wrote, served over HTTP,
against the same plan run in-process by `ridge bench` (same file, engine, precision, threads, instances, batch).

  served  ÷  in-process [rows/s], requests of one row each, enough connections to keep every instance's next batch
  waiting   goal ≥ 0.95 the same with requests that carry a whole batch each, two per instance
  (reported) with --shared-memory also: requests of one row whose tensors lie in system shared memory, in and out
  goal ≥ 0.95 latency at 4 connections: p99 ÷ p50
  (reported)

Every round visits all parties once, in a shuffled order; figures are medians over the rounds with their range, ratios
are taken round by round. Load comes from wrk on the same CPUs; what it and the server take of them is shown too.

  benchmarks/served_vs_tuned.py REPOSITORY [--model NAME] [--rounds 7] [--seconds 6] [--shared-memory] [--out FILE]
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing import shared_memory

import numpy

import serve_overhead as overhead

sys.path.insert(0, str(overhead.ROOT / "tests"))
import client_check  # noqa: E402

LUA = """
local file = io.open("%s", "rb")
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/octet-stream"
wrk.headers["Inference-Header-Content-Length"] = "%d"
wrk.body = file:read("*a")
"""
# Requests take turns, so that a connection's next one names other memory than its last.
SHARED_LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local bodies, requests, turn = {%s}, {}, 0
function init()
  for index, body in ipairs(bodies) do requests[index] = wrk.format(nil, nil, nil, body) end
end
function request()
  turn = turn %% #requests + 1
  return requests[turn]
end
"""
GOAL = 0.95
SHARED_BYTES = 32 << 20  # at most: a container often has 64 MiB of shared memory
REGION = "served_vs_tuned"


class Tuned:
    """The tuner's decisions for one model of a repository."""

    def __init__(self, repository, name):
        self.name = name
        self.folder = repository / name
        tuning = json.loads((self.folder / "tuning.json").read_text())
        self.best = tuning["best"]
        self.candidate = tuning["candidate"]
        # "input_ids[1,128] attention_mask[1,128]": at batch 1
        self.shapes = {key: [int(size) for size in sizes.split(",")]
                       for key, sizes in re.findall(r"(\S+)\[([\d,]*)\]", tuning["shapes"])}
        self.file = max(self.folder.glob("*/model.onnx"), key=lambda file: int(file.parent.name))
        self.batch, self.instances = self.candidate["batch"], self.candidate["instances"]
        self.options = re.findall(r'key: "(?:ridge_option_)?((?:session|ridge|[A-Z_]+)[^"]*)"'
                                  r'\s*value \{\s*string_value: "([^"]*)"',
                                  (self.folder / "config.pbtxt").read_text())
        if self.candidate["inter_op_threads"] > 1:
            raise SystemExit(f"{name} was tuned with several operators at a time, which ridge bench has no option for")

    def bench_command(self, ridge, seconds):
        """The tuned plan in-process."""
        best, own = self.best, ("INFERENCE_NUM_THREADS", "HINT_BF16", "ridge_precision")
        command = [ridge, "bench", self.file, "--engine", best["engine"], "--precision",
                   best["precision"] if best["engine"] == "openvino" else "fp32", "--instances", self.instances,
                   "--seconds", seconds, "--ci", "0.01", "--json"]
        if self.candidate["threads"] > 0:
            command += ["--threads", self.candidate["threads"]]
        for key, sizes in self.shapes.items():
            command += ["--shape", key + "=" + "x".join(str(size) for size in [sizes[0] * self.batch, *sizes[1:]])]
        for key, value in self.options:
            if key not in own:
                command += ["--engine-option", f"{key}={value}"]
        return [str(part) for part in command]

    def metadata(self, port):
        """Bytes of one row of the tuned shapes."""
        metadata = client_check.Client(port, self.name).metadata()
        for tensor in metadata["inputs"]:
            tensor["shape"] = self.shapes[tensor["name"]]
        return metadata

    def row(self, port):
        return client_check.random_inputs(self.metadata(port), numpy.random.default_rng(7))

    def request(self, port, rows):
        """(JSON header, tensor bytes) of a request with so many rows."""
        return client_check.binary_request({name: numpy.repeat(values, rows, 0) for name,
                                            values in self.row(port).items()})

    def describe(self):
        best = self.best
        return (f"{self.name}: {best['engine']} {best['engine_version']}, {best['precision']}, "
                f"{self.instances} × {best['threads']} threads, batch {self.batch}")


def script(folder, name, request):
    """A wrk script that posts this request again and again."""
    header, tensors = request
    body, path = folder / f"{name}.bin", folder / f"{name}.lua"
    body.write_bytes(header + tensors)
    path.write_text(LUA % (body, len(header)))
    return path


def row_bytes(tensor):
    """Bytes of one row of an output; None where its shape is not known beforehand."""
    sizes = [1 if axis == 0 and size < 0 else size for axis, size in enumerate(tensor["shape"])]
    known = tensor["datatype"] in client_check.NUMPY_OF and min(sizes, default=1) >= 0
    return int(numpy.prod(sizes)) * numpy.dtype(client_check.NUMPY_OF[tensor["datatype"]]).itemsize if known else None


class SharedRows:
    """Requests of one row whose tensors lie in a region of shared memory that the server knows.

    Use as a context manager.
    """

    def __init__(self, tuned, port, most):
        self.client, self.inputs = client_check.Client(port, tuned.name), tuned.row(port)
        self.sizes = {name: values.nbytes for name, values in self.inputs.items()}
        self.sizes |= {tensor["name"]: size for tensor in tuned.metadata(port)["outputs"]
                       if (size := row_bytes(tensor))}
        self.stride = sum(-(-size // 64) * 64 for size in self.sizes.values())
        self.count = max(1, min(most, SHARED_BYTES // self.stride))

    def __enter__(self):
        self.memory = shared_memory.SharedMemory(create=True, size=self.count * self.stride)
        self.client.call("POST", f"/v2/systemsharedmemory/region/{REGION}/register",
                         json.dumps({"key": "/" + self.memory.name.lstrip("/"), "byte_size": self.memory.size}))
        return self

    def __exit__(self, *_):
        self.memory.close()
        self.memory.unlink()

    def parts(self, at):
        """Tensor → parameters that say where it lies in the row that begins there."""
        parts = {}
        for name, size in self.sizes.items():
            parts[name] = {"shared_memory_region": REGION, "shared_memory_byte_size": size, "shared_memory_offset": at}
            at += -(-size // 64) * 64
        return parts

    def body(self, number):
        """The request for row `number`, whose inputs are laid into memory."""
        parts = self.parts(number * self.stride)
        header = json.loads(client_check.binary_request(self.inputs)[0])
        for tensor in header["inputs"]:
            values, tensor["parameters"] = self.inputs[tensor["name"]], parts[tensor["name"]]
            begin = tensor["parameters"]["shared_memory_offset"]
            self.memory.buf[begin:begin + values.nbytes] = values.tobytes()
        names = [tensor["name"] for tensor in self.client.metadata()["outputs"]]
        header["outputs"] = [{"name": name, "parameters": parts[name]} if name in parts else {"name": name}
                             for name in names]
        return json.dumps(header)

    def script(self, folder):
        path = folder / "shared.lua"
        path.write_text(SHARED_LUA % ", ".join(f"[==[{self.body(number)}]==]" for number in range(self.count)))
        return path


def cpu_seconds(pid):
    """CPU time of a process and the children that it waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class Load:
    """wrk against one server, with what both took of the CPUs.

    Rows are counted by the server's statistics between the ends of two executions: wrk would leave out what is under
    way at its end, which is much where batches take long."""

    def __init__(self, port, model, server_pid):
        self.url, self.server_pid = f"http://127.0.0.1:{port}/v2/models/{model}/infer", server_pid
        self.client = client_check.Client(port, model)

    def done(self):
        """(rows so far, when the latest execution ended [s])"""
        statistics_ = json.loads(self.client.call("GET", self.client.path + "/stats")[1])["model_stats"][0]
        return statistics_["inference_count"], statistics_["last_inference"] / 1e3

    def await_idle(self):
        """Empties the queue: the rest of the last run would be served first in the next."""
        rows = -1
        while rows != (rows := self.done()[0]):
            time.sleep(1.5)

    def between(self, first_rows, begin, seconds):
        """(rows, seconds) between the end of the first execution after `first_rows` and the latest one `seconds` after
        `begin`."""
        while (start := self.done())[0] == first_rows:
            time.sleep(0.002)
        time.sleep(max(0, begin + seconds - time.monotonic()))
        end = self.done()
        return end[0] - start[0], end[1] - start[1]

    def run(self, script, connections, seconds):
        """Returns figures of one run: rows_per_s, p50_ms, p99_ms, wrk and server [CPUs]."""
        self.await_idle()
        first_rows, server, own, begin = self.done()[0], cpu_seconds(self.server_pid), os.times(), time.monotonic()
        wrk = subprocess.Popen(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "--latency",
                                "-s", str(script), self.url], stdout=subprocess.PIPE, text=True)
        rows, window = self.between(first_rows, begin, seconds - 0.1)
        text = wrk.communicate()[0]
        elapsed, after = time.monotonic() - begin, os.times()
        if wrk.returncode != 0 or window <= 0 or "Non-2xx" in text or "Socket errors" in text:
            raise SystemExit(f"wrk saw errors at {self.url}, or too few executions:\n{text}")
        percentile = {name: float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]
                      for name, value, unit in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)", text)}
        wrk_seconds = after.children_user + after.children_system - own.children_user - own.children_system
        return {"rows_per_s": rows / window, "p50_ms": percentile["50"], "p99_ms": percentile["99"],
                "wrk": wrk_seconds / elapsed, "server": (cpu_seconds(self.server_pid) - server) / elapsed}


@contextlib.contextmanager
def serve(ridge, repository):
    """(port, process id) of a ready server."""
    server = client_check.Server(ridge, repository, 0)
    try:
        yield server.port, server.process.pid
    finally:
        server.stop()


def parties(tuned, ridge, load, scripts, seconds):
    """Name → what measures it once; all return a dictionary."""
    single, whole = tuned.instances * tuned.batch * 2, tuned.instances * 2

    def in_process():
        text = subprocess.run(tuned.bench_command(ridge, seconds), capture_output=True, text=True, check=True).stdout
        return {"rows_per_s": json.loads(text)["throughput_per_s"]}

    found = {"in-process": in_process,
             "served": lambda: load.run(scripts["row"], single, seconds),
             "served, whole batches": lambda: load.run(scripts["batch"], whole, seconds),
             "4 connections": lambda: load.run(scripts["row"], 4, seconds)}
    if "shared" in scripts:
        found["served, shared memory"] = lambda: load.run(scripts["shared"], single, seconds)
    return found


def report(tuned, results, options):
    def column(name, figure):
        return [each[figure] for each in results[name]]

    inside = column("in-process", "rows_per_s")
    lines = [f"served_vs_tuned: {options.rounds} rounds, {options.seconds} s per party and round, median (min–max)",
             overhead.machine_line(), f"commit: {overhead.commit()}", tuned.describe(), "",
             f"in-process [rows/s]: {overhead.spread(inside)}"]
    for name, goal in (("served", GOAL), ("served, shared memory", GOAL), ("served, whole batches", None)):
        if name not in results:
            continue
        ratios = [above / below for above, below in zip(column(name, "rows_per_s"), inside)]
        verdict = "" if goal is None else f", goal ≥ {goal}: " + ("ok"
                                                                  if statistics.median(ratios) >= goal else "MISSED")
        lines.append(f"{name} [rows/s]: {overhead.spread(column(name, 'rows_per_s'))}; ÷ in-process per round: "
                     f"{overhead.spread(ratios)}{verdict}")
        lines.append(f"  CPUs: server {overhead.spread(column(name, 'server'))}, "
                     f"load generator {overhead.spread(column(name, 'wrk'))}; "
                     f"latency p50 {overhead.spread(column(name, 'p50_ms'))} ms, "
                     f"p99 {overhead.spread(column(name, 'p99_ms'))} ms")
    tails = [row["p99_ms"] / row["p50_ms"] for row in results["4 connections"]]
    lines.append(f"4 connections [rows/s]: {overhead.spread(column('4 connections', 'rows_per_s'))}; latency p50 "
                 f"{overhead.spread(column('4 connections', 'p50_ms'))} ms, "
                 f"p99 {overhead.spread(column('4 connections', 'p99_ms'))} ms, p99 ÷ p50 {overhead.spread(tails)}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("--model", help="where the repository has several")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=6, help="per party and round")
    parser.add_argument("--shared-memory", action="store_true",
                        help="also measure requests whose tensors lie in system shared memory")
    parser.add_argument("--ridge", default=os.environ.get("RIDGE", str(overhead.RELEASE / "ridge")))
    parser.add_argument("--out", type=pathlib.Path, help="also write the report here")
    options = parser.parse_args()
    overhead.require_wrk()
    tuned = Tuned(options.repository, options.model or client_check.only_model(options.repository)[0])
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port, pid = stack.enter_context(serve(options.ridge, options.repository))
        scripts = {"row": script(folder, "row", tuned.request(port, 1)),
                   "batch": script(folder, "batch", tuned.request(port, tuned.batch))}
        if options.shared_memory:
            scripts["shared"] = stack.enter_context(SharedRows(tuned, port,
                                                               tuned.instances * tuned.batch * 2)).script(folder)
        load = Load(port, tuned.name, pid)
        results = overhead.measure(parties(tuned, options.ridge, load, scripts, options.seconds), options.rounds)
    text = report(tuned, results, options)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
