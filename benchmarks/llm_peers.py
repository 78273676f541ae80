#!/usr/bin/env python3
"""`ridge`'s language models beside llama.cpp and OpenVINO GenAI: the same weights, the same tokens, the same CPUs, in one interleaved run.

The model is one that `ridge make` makes; this script writes it as GGUF too (F32, BF16, Q8_0, Q4_0). Every party runs in a process of its own,
once per round, in shuffled order; figures are medians over the rounds with their range. Tokens are given and taken as numbers.

  greedy      the most likely tokens in FP32: of so many prompts, how many answers equal llama.cpp's, token for token           goal: all
  prefill     tokens/s of a prompt of 256                                                                             goal: llama.cpp's
  B=1, 8, 32  tokens/s of so many sequences of 256 tokens, over the next 32               goal at 8 and 32: 2 x llama.cpp's with 8 bits,
                                                                                                             1.1 x with 4; at 1: as fast
  mix         CPU seconds of the whole process for 64 requests at once, 19,002 prompt and 4,577 generated tokens, at most 32 at a time,
              the load of the model taken off                                                             goal ≤ 1.05 x OpenVINO GenAI's

  python3 -m venv DIR/venv
  DIR/venv/bin/pip install gguf==0.19.0 openvino-genai==2026.4.1.0 safetensors==0.8.0 tokenizers==0.23.3 typing_extensions
  cd DIR && npm pack @node-llama-cpp/linux-x64@3.22.1 && tar xzf node-llama-cpp-linux-x64-3.22.1.tgz            (llama.cpp 0.5.0 as built by npm's maintainer)
  the source archive llama-cpp-python==0.3.36 of PyPI unpacked as DIR/llama_cpp_python                          (its functions for Python only)

  benchmarks/llm_peers.py --peers DIR [--model llama-90m] [--threads 1] [--rounds 3] [--out FILE]
"""

import argparse
import ctypes
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import types

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
PROMPT, GENERATE, BATCHES = 256, 32, (1, 8, 32)


def prompt_of(seed, tokens, vocabulary):
    return np.random.default_rng(seed).integers(10, vocabulary, tokens).tolist()


def mix():
    """(prompt, answer) lengths of 64 requests: lognormal prompts of 297 tokens on average, answers of 72."""
    rng = np.random.default_rng(7)
    prompts, answers = rng.lognormal(5.4, 0.75, 64), rng.lognormal(4.1, 0.6, 64)
    scaled = lambda values, total: np.maximum(1, np.round(values * total / values.sum())).astype(int).tolist()
    return list(zip(scaled(prompts, 19002), scaled(answers, 4577), strict=True))


# ---------------------------------------------------------------- GGUF
def write_gguf(folder, path, form):
    """The checkpoint of Llama's kind in `folder` as one file of GGUF; `form`: F32, BF16, Q8_0 or Q4_0 for matrices, F32 for the rest."""
    import gguf
    from safetensors import safe_open

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
    writer.add_token_types([gguf.TokenType.CONTROL if number in added else gguf.TokenType.NORMAL for number in range(config["vocab_size"])])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])

    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
    parts = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
             "mlp.down_proj": "ffn_down"}
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in parts.items():
            names[f"model.layers.{layer}.{theirs}.weight"] = f"blk.{layer}.{ours}.weight"
    # llama.cpp rotates neighbours, Hugging Face's checkpoints the halves of a head.
    turned = lambda matrix, count: matrix.reshape(count, 2, matrix.shape[0] // count // 2, -1).swapaxes(1, 2).reshape(matrix.shape)
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

    def forget(self):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), False)


def greedy_of_llama_cpp(peers, file, prompts, count):
    answers = []
    party = LlamaCpp(peers, file, 1, 1, max(map(len, prompts)) + count + 8, cache=0)
    for prompt in prompts:
        party.forget()
        answer = [party.prefill(prompt)]
        while len(answer) < count:
            answer.append(party.step([(answer[-1], len(prompt) + len(answer) - 1, 0, True)])[0])
        answers.append(answer)
    return answers


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
    begin = cpu_seconds()
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
    return {"mix": cpu_seconds() - begin}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# ---------------------------------------------------------------- OpenVINO GenAI
def mix_of_genai(file, threads):
    import openvino
    import openvino_genai as genai

    scheduler = genai.SchedulerConfig()
    scheduler.max_num_batched_tokens, scheduler.max_num_seqs, scheduler.cache_size = 256, 32, 2
    pipeline = genai.ContinuousBatchingPipeline(str(file), scheduler, "CPU", {"INFERENCE_NUM_THREADS": threads})
    begin = cpu_seconds()
    handles = []
    for i, (prompt, answer) in enumerate(mix()):
        config = genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = answer, True, False
        tokens = np.array([prompt_of(100 + i, prompt, 16384)], np.int64)
        handles.append(pipeline.add_request(i, openvino.Tensor(tokens), config))
    while pipeline.has_non_finished_requests():
        pipeline.step()
    made = sum(len(handle.read_all()[0].generated_ids) for handle in handles)
    if made != sum(answer for _, answer in mix()):
        raise SystemExit(f"OpenVINO GenAI made {made} tokens")
    return {"mix": cpu_seconds() - begin}
