#!/usr/bin/env python3
"""An hour of `ridge serve` with language models: streams that are compared, slow and idle ones, killed clients,
reloads; then a drain.

Three models: `real`, llama-90m with FP32 weights and cache, whose greedy answers do not depend on their neighbours;
`fast` and `idle` of the fake engine, which steps every 10 ms and every 5 s. Every prompt is answered once on a quiet
server; all answers after that must be the same text. One process of clients asks all the time: 12 streams of `fast`, 1
of `real`, and --idle ones of `idle`, which get a token every 5 s. A tenth of the streams read 256 bytes every half
second, a tenth nothing in the first 20 s, a tenth close early. A second process does the same with a tenth of the idle
streams and is killed (SIGKILL) every 25 s. As many connections as idle streams carry nothing. Every 30 s the next model
is loaded again. At the end SIGTERM, with --drain-secs, while all streams are open: each ends whole, and the server with
status 0.

  lost      streams that were refused, or ended before [DONE]                                            goal 0 torn
  streams with another text, finish_reason or usage than on the quiet server, or bad framing   goal 0 open      most
  requests that the server counts at once                      goal: at most the streams there can be, and those of one
  killed client growth    resident memory: the least of every 90 s (between reloads), the line through them after the
  first sixth, over the rest; beside their
            range about that line                                                                        goal: no more
            than that range

  benchmarks/soak_llm.py [--seconds 3600] [--idle 1000] [--build build/release] [--out FILE]
"""

import argparse
import asyncio
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from serve_overhead import RELEASE, commit, machine_line, process, report
from soak import answered, growth, open_idle, resident_mib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "support"))
import language_models

PORT = 18850
BUSY = {"fast": 12, "real": 1}  # streams of each process of clients
PAUSE_S = {"fast": 5, "real": 12, "idle": 1}  # between two of them, on average
TOKENS = {"fast": (50, 150), "real": (8, 24), "idle": (30, 50)}  # of an answer
MANNERS = ["at once"] * 7 + ["slowly", "late", "leaves"]
REAL_CONFIG = 'parameters { key: "%s" value { string_value: "%s" } }\n'
REAL = {"ridge_weights": "fp32", "ridge_cache": "fp32", "ridge_threads": "1", "ridge_context": "1024",
        "ridge_cache_tokens": "8192"}
SERVER = ["--model-control-mode=explicit", "--load-model=*", f"--http-port={PORT}", "--grpc-port=0",
          f"--metrics-port={PORT + 1}", "--drain-secs=10", "--exit-timeout-secs=500", "--http-request-timeout-secs=120"]


# ---------------------------------------------------------------- one stream
def text_of(raw):
    """(text, finish_reason, completion tokens) of an answer as it came over the wire; ValueError says what is wrong
    with it."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise ValueError(f"lost: {head[:40]!r} {rest[:200]!r}")
    body = b""
    while True:
        size, mark, rest = rest.partition(b"\r\n")
        if not mark:
            raise ValueError("lost: the answer ends within its chunks")
        count = int(size, 16)
        if rest[count : count + 2] != b"\r\n":
            raise ValueError("lost: the answer ends within a chunk"
                             if len(rest) < count + 2 else "torn: a chunk is longer than it says")
        body, rest = body + rest[:count], rest[count + 2 :]
        if count == 0:
            break
    if rest:
        raise ValueError(f"torn: {rest[:40]!r} behind the last chunk")
    events = [event for event in body.decode().split("\n\n") if event and not event.startswith(":")]
    if events[-1] != "data: [DONE]":
        raise ValueError(f"lost: no [DONE], but {events[-1][:200]}")
    text, reason, tokens = "", None, None
    for event in events[:-1]:
        value = json.loads(event.removeprefix("data: "))
        if "error" in value:
            raise ValueError(f"lost: {value}")
        for choice in value["choices"]:
            text, reason = text + choice["text"], choice["finish_reason"] or reason
        tokens = (value.get("usage") or {}).get("completion_tokens", tokens)
    return text, reason, tokens


async def received(loop, connection, manner, size):
    """The bytes of an answer, read in that manner; None: left after `size` of them."""
    raw = bytearray()
    if manner == "late":
        await asyncio.sleep(20)
    while not raw.endswith(b"\r\n0\r\n\r\n"):
        piece = await loop.sock_recv(connection, 256 if manner == "slowly" else 1 << 16)
        if not piece:
            break
        raw += piece
        if manner == "leaves" and len(raw) > size:
            return None
        if manner == "slowly":
            await asyncio.sleep(0.5)
    return bytes(raw)


async def answer(model, prompt, tokens, manner="at once", size=0):
    """The stream's text by text_of(); None if it was left."""
    loop = asyncio.get_running_loop()
    body = json.dumps({"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
                       "stream": True, "stream_options": {"include_usage": True}}).encode()
    with socket.socket() as connection:
        connection.setblocking(False)
        if manner in ("slowly", "late"):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await loop.sock_connect(connection, ("127.0.0.1", PORT))
        await loop.sock_sendall(connection,
                                b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                                b"Content-Type: application/json\r\n"
                                + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        raw = await received(loop, connection, manner, size)
    return raw if raw is None else text_of(raw)


# ---------------------------------------------------------------- a process of clients
async def ask_on(model, asks, seed, seen, faults, leaving):
    rng = random.Random(f"{model} {seed}")
    await asyncio.sleep(rng.uniform(0, PAUSE_S[model]))
    while not leaving.is_set():
        ask = rng.choice(asks[model])
        manner = rng.choice(MANNERS)
        try:
            found = await answer(model, ask["prompt"], ask["tokens"], manner, rng.randrange(300, 6000))
            if found is not None and list(found) != ask["answer"]:
                raise ValueError(f"torn: {found}, not {ask['answer']}")
            seen[f"{model}, {'left' if found is None else 'whole'}"] += 1
        except OSError as error:
            faults.append(f"{model}, {manner}: lost: {error!r}")
        except Exception as error:  # ValueError, or what a broken answer makes of reading JSON
            faults.append(f"{model}, {manner}: {error}")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(leaving.wait(), rng.uniform(0, 2 * PAUSE_S[model]))


async def clients(asks, idle, seed):
    """Until SIGTERM; then streams end, and what was seen goes to stdout."""
    seen, faults, leaving = collections.Counter(), [], asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
    streams = [(model, seed * 100_000 + number) for model,
               count in (BUSY | {"idle": idle}).items() for number in range(count)]
    await asyncio.gather(*(ask_on(model, asks, number, seen, faults, leaving) for model, number in streams))
    print(json.dumps({"seen": seen, "faults": faults}))


# ---------------------------------------------------------------- the server and what is done to it
async def quiet_answers():
    """Per model its prompts with their answers, which the server gave one at a time.

    Those of `idle` come from `fast`, the same script but faster.
    """
    rng = random.Random(7)
    asks = {}
    for model, count in {"fast": 24, "real": 12, "idle": 12}.items():
        asks[model] = []
        for _ in range(count):
            prompt = "".join(chr(rng.randrange(97, 123)) for _ in range(rng.randrange(5, 60)))
            tokens = rng.randint(*TOKENS[model])
            asks[model].append({"prompt": prompt, "tokens": tokens,
                                "answer": await answer("fast" if model == "idle" else model, prompt, tokens)})
    return asks


def write_repository(folder, ridge):
    language_models.write(folder / "fast", step_ms=10)
    language_models.write(folder / "idle", step_ms=5000)
    with (folder / "idle" / "config.pbtxt").open("a") as config:
        config.write(REAL_CONFIG % ("ridge_sequences", 4096) + REAL_CONFIG % ("ridge_step_tokens", 100_000))
    subprocess.run([ridge, "make", "llama-90m", "-o", str(folder / "real" / "1")], check=True, capture_output=True)
    (folder / "real" / "config.pbtxt").write_text("".join(REAL_CONFIG % row for row in REAL.items()))


def start_clients(asks, idle, seed):
    return subprocess.Popen([sys.executable, __file__, "--clients", str(asks), "--idle", str(idle), "--seed",
                             str(seed)], stdout=subprocess.PIPE, text=True)


def reload(repository, model):
    """Versions whose files have other times are opened anew and replace those that serve; unchanged ones would be
    kept."""
    for file in (repository / model).rglob("*"):
        os.utime(file)
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v2/repository/models/{model}/load", data=b"{}",
                                     method="POST")
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.status == 200
    except OSError as error:
        print(f"reload of {model}: {error}", file=sys.stderr)
        return False


def requests_open():
    metrics = urllib.request.urlopen(f"http://127.0.0.1:{PORT + 1}/metrics", timeout=20).read().decode()
    return sum(float(line.split()[-1]) for line in metrics.splitlines()
               if line.startswith(("vllm:num_requests_running{", "vllm:num_requests_waiting{")))


def soak(options, server, repository, asks):
    """(memory at every 10 s [MiB], most requests open, reloads, kills, what the clients saw, seconds of the drain,
    status of the server, lost connections)"""
    connections = open_idle(options.idle, PORT)
    steady, victim = start_clients(asks, options.idle, 1), start_clients(asks, options.idle // 10, 2)
    end, begin = time.monotonic() + options.seconds, time.monotonic()
    samples, reloads, kills, most = [], [], 0, 0
    next_reload, next_kill = begin + 30, begin + 25
    loader = concurrent.futures.ThreadPoolExecutor(1)
    while time.monotonic() < end and steady.poll() is None and server.poll() is None:
        time.sleep(10)
        samples.append(resident_mib(server.pid))
        most = max(most, requests_open())
        if time.monotonic() >= next_kill:
            victim.kill()
            victim.wait()
            kills += 1
            victim, next_kill = start_clients(asks, options.idle // 10, 2 + kills), next_kill + 25
        if time.monotonic() >= next_reload:
            reloads.append(loader.submit(reload, repository, list(TOKENS)[len(reloads) % len(TOKENS)]))
            next_reload += 30
    reloads = [done.result() for done in reloads]
    lost = sum(not answered(connection) for connection in connections)
    for connection in connections:
        connection.close()
    begin = time.monotonic()
    server.send_signal(signal.SIGTERM)
    time.sleep(5)
    for child in (steady, victim):
        child.send_signal(signal.SIGTERM)
    status = server.wait(600)
    drain_s = time.monotonic() - begin
    found = [json.loads(child.communicate()[0]) for child in (steady, victim)]
    return samples, most, reloads, kills, found, drain_s, status, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--idle", type=int, default=1000,
                        help="streams that get a token every 5 s, and connections that carry nothing")
    parser.add_argument("--build", type=pathlib.Path, default=RELEASE, help="folder of ridge")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table here")
    parser.add_argument("--clients", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if options.clients:
        return asyncio.run(clients(json.loads(options.clients.read_text()), options.idle, options.seed))
    ridge, tree = str(options.build / "ridge"), commit()
    with tempfile.TemporaryDirectory() as temporary:
        repository, asks = pathlib.Path(temporary) / "models", pathlib.Path(temporary) / "asks.json"
        write_repository(repository, ridge)
        command = [ridge, "serve", str(repository), *SERVER,
                   f"--http-idle-timeout-secs={2 * options.seconds + 600:.0f}"]
        with process(command, f"http://127.0.0.1:{PORT}/v2/health/ready") as server:
            asks.write_text(json.dumps(asyncio.run(quiet_answers())))
            samples, most, reloads, kills, found, drain_s, status, lost = soak(options, server, repository, asks)
    floor = [min(samples[i : i + 9]) for i in range(0, len(samples) - 8, 9)]
    rise, about = growth(floor, 90) if len(floor) > 5 else (float("nan"),) * 2
    seen = sum((collections.Counter(each["seen"]) for each in found), collections.Counter())
    faults = [fault for each in found for fault in each["faults"]]
    for fault in faults[:50]:
        print(fault, file=sys.stderr)
    torn = sum("torn" in fault for fault in faults)
    streams = sum(BUSY.values()) * 2 + options.idle + options.idle // 10
    spare = sum(BUSY.values()) + options.idle // 10
    verdict = lambda kept: "ok" if kept else "MISSED"
    rows = [[f"streams of {kind}", f"{count:,}", "", ""] for kind, count in sorted(seen.items())]
    rows += [
        ["lost", f"{len(faults) - torn}", "0", verdict(len(faults) == torn)],
        ["torn", f"{torn}", "0", verdict(torn == 0)],
        ["clients killed", f"{kills}", "", ""],
        ["reloads, of them not answered 200", f"{len(reloads)}, {reloads.count(False)}", "0", verdict(all(reloads))],
        ["idle connections, of them lost", f"{options.idle}, {lost}", "0", verdict(lost == 0)],
        ["requests open at most", f"{most:.0f}", f"≤ {streams + spare}", verdict(most <= streams + spare)],
        ["drain [s], status of the server", f"{drain_s:.0f}, {status}", "0", verdict(status == 0)],
        ["resident memory, least, most, last [MiB]", f"{min(samples):.1f}, {max(samples):.1f}, {samples[-1]:.1f}", "",
         ""],
        ["growth between reloads; range about its line [MiB]", f"{rise:+.2f}; {about:.2f}", "≤ range",
         verdict(rise <= about)],
    ]
    report([f"command: benchmarks/soak_llm.py --seconds {options.seconds:g} --idle {options.idle}", machine_line(),
            f"commit: {tree}", f"load of the machine at the end (15 min average): {os.getloadavg()[2]:.2f}", "",
            "memory every 90 s [MiB]: " + " ".join(f"{value:.0f}" for value in floor), ""],
           ["what", "seen", "goal", ""], rows, options.out)
    return 1 if any(row[-1] == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
