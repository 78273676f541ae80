#!/usr/bin/env python3
"""How late the tokens of one stream are while another request is answered by a hard schema, on the real decoder
(llama-90m, one thread).

A stream of tokens runs alone with a second request, --tries times: one without a schema, then one of each schema below.
A token's gap is the time since the one before it. The worst gap beside a schema, less the worst gap beside the request
without one, is how late the schema makes a token; of the tries the least counts, because whatever else the machine does
only adds to it.    goal: at most 10 ms

  ./dev bench schema_neighbour [--tries 5] [--build build/release] [--out FILE]
"""

import argparse
import http.client
import json
import pathlib
import subprocess
import tempfile
import threading
import time

from serve_overhead import RELEASE, commit, machine_line, process, report

PORT = 18880
GOAL_MS = 10
TOKENS = 200


def doubling(form):
    """A chain of 60 definitions, each of which names the next twice."""
    chain = {f"a{i}": form({"$ref": f"#/$defs/a{i + 1}"}) for i in range(60)}
    return {"$ref": "#/$defs/a0", "$defs": chain | {"a60": {"type": "string"}}}


def pattern(text):
    return {"type": "string", "pattern": text}


SCHEMAS = {
    "no schema": None,
    "string": {"type": "string"},
    "text of 200": pattern(r"^.{1,200}$"),
    "words": pattern(r"^[A-Za-z]+( [A-Za-z]+)*$"),
    "address": pattern(r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$"),
    "object of 3": {"type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "boolean"}},
                    "required": ["a", "b", "c"], "additionalProperties": False},
    "1000 keys and others": {"type": "object", "properties": {f"key{i}": {} for i in range(1000)},
                             "additionalProperties": True},
    "1000 keys wanted": {"type": "object", "properties": {f"key{i}": {"$ref": "#"} for i in range(1000)},
                         "required": [f"key{i}" for i in range(1000)]},
    "1000 objects of 60 keys": {"anyOf": [{"type": "object", "properties": {f"{i}_{j}": {} for j in range(60)}}
                                          for i in range(1000)]},
    "200,000 words": {"enum": [f"e{i}" for i in range(200_000)]},
    "anyOf, doubling": doubling(lambda next: {"anyOf": [next, next]}),
    "arrays, doubling": doubling(lambda next: {"type": "array", "items": {"anyOf": [next, next]}}),
    "50 patterns of .*": {"anyOf": [pattern(f"^.*{i}.*{i}$") for i in range(50)]},
    ".{0,1000} four times": pattern("^.{0,1000}a.{0,1000}b.{0,1000}c.{0,1000}$"),
    "[ab]*a[ab]{7}": pattern("^[ab]*a[ab]{7}$"),
    "[ab]*a[ab]{40}": pattern("^[ab]*a[ab]{40}$"),
    "50 of [ab]*a[ab]{11}": {"anyOf": [pattern(f"^[ab]*a[ab]{{11}}{i}$") for i in range(50)]},
    "(a|b|ab|...)*(a|b){900}": pattern("^(a|b|ab|ba|aab|bba)*(a|b){900}$"),
    "12,000 classes": pattern("^" + "[^a]" * 12_000 + "$"),
    "string of 1,000,000": {"type": "string", "minLength": 1_000_000, "maxLength": 1_000_000},
    "1e-24 to 2e-24": {"type": "number", "minimum": 1e-24, "maximum": 2e-24},
}


def body(schema=None, **more):
    format = {} if schema is None else {"response_format": {"type": "json_schema",
                                                            "json_schema": {"name": "x", "schema": schema}}}
    return json.dumps({"model": "llama", "prompt": "a", "temperature": 1} | more | format)


def post(text):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    connection.request("POST", "/v1/completions", text, {"Content-Type": "application/json"})
    return connection.getresponse()


def gaps(schema):
    """The gaps [ms] of a stream beside a request of that schema, from when that was sent, and that request's status:
    200, or 400 where it is refused."""
    beside, ends = body(schema, max_tokens=24), []
    other = threading.Thread(target=lambda: ends.append((ended(post(beside)), time.monotonic())))
    stream = post(body(max_tokens=TOKENS, ignore_eos=True, stream=True))
    if stream.status != 200:
        raise SystemExit(f"the stream was refused: {stream.read()}")
    times = []
    while line := stream.readline():
        if not line.startswith(b"data: {"):
            continue
        times.append(time.monotonic())
        if len(times) == 10:
            other.start()
    other.join()
    status, end = ends[0]
    if status not in (200, 400) or end > times[-1]:
        raise SystemExit(f"the request with the schema ended with {status}, {end - times[-1]:.2f} s behind the stream")
    return [(after - before) * 1e3 for before, after in zip(times[9:], times[10:])], status


def ended(answer):
    answer.read()
    return answer.status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=RELEASE)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    ridge = str(options.build / "ridge")
    worst, middle, statuses = {name: [] for name in SCHEMAS}, {name: [] for name in SCHEMAS}, {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([ridge, "make", "llama-90m", "-o", str(folder / "llama" / "1")], check=True, capture_output=True)
        (folder / "llama" / "config.pbtxt").write_text(
            'parameters { key: "ridge_threads" value { string_value: "1" } }\n'
            'parameters { key: "ridge_weights" value { string_value: "int8" } }\n')
        for _ in range(options.tries):  # a server each, so that no schema is known
            with process([ridge, "serve", str(folder), f"--http-port={PORT}", "--grpc-port=0", "--metrics-port=0"],
                         f"http://127.0.0.1:{PORT}/v2/health/ready"):
                gaps(None)
                for name, schema in SCHEMAS.items():
                    each, statuses[name] = gaps(schema)
                    worst[name].append(max(each))
                    middle[name].append(sorted(each)[len(each) // 2])
    usual = min(worst["no schema"])
    rows = []
    for name in SCHEMAS:
        late = min(worst[name]) - usual
        rows.append([name, str(statuses[name]), f"{min(middle[name]):.1f}",
                     f"{min(worst[name]):.1f} ({max(worst[name]):.1f})",
                     "" if name == "no schema" else f"{late:.1f}",
                     "" if name == "no schema" else "ok" if late <= GOAL_MS else "MISSED"])
    report([f"schema_neighbour: {options.tries} tries of {TOKENS} tokens; gaps between tokens, ms; "
            "the least of the tries (and the most)", machine_line(),
            f"commit: {commit()}", ""],
           ["the other request's schema", "status", "median gap", "worst gap", "late by", f"goal: at most {GOAL_MS}"],
           rows, options.out)


if __name__ == "__main__":
    main()
