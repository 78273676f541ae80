"""Every JSON document is as its schema says: required members are there and of their types, and none is missing in
the schema."""
# ctest: timeout 600

import json
import os
import subprocess
import sys

import known_limits
import language_models
import pytest
from jsonschema import Draft202012Validator
from schemas import SOURCE, errors_of, schema_of

RIDGE = os.environ["RIDGE"]
FAKE_GPUS = {"RIDGE_NVML": os.environ["RIDGE_TEST_SUPPORT"] + "/libnvidia-ml.so.1",
             "RIDGE_FAKE_NVML": f"{SOURCE}/tests/support/nvml/at-limit.txt",
             "RIDGE_FAKE_NVML_STATE": "state"}
NO_GPUS = {"RIDGE_NVML": "none", "RIDGE_CUDA": "none"}
TUNE = ["--engine", "fake", "--engine-option", "latency_ms=4", "--engine-option", "latency_ms_per_row=0.2",
        "--max-batch", "4", "--seconds", "2"]

LLM = "layers=2,heads=4,kv-heads=4,hidden=64,vocabulary=512,intermediate=128"

# Name of the schema; environment; command lines of its verb.
DOCUMENTS = [
    ("make", {}, ["make mlp -o mlp.onnx --json", "make identity -o identity.onnx --json",
                  "make identity -o second.onnx --json", "make resnet50 --describe --json"]),
    ("describe", {}, ["mlp.onnx --json", "bert-base --json"]),
    ("describe-language", {}, ["decoder --json", "decoder/config.json --json"]),
    ("plan", {}, ["plan mlp.onnx --json", "plan mlp.onnx -d T4 --memory --json",
                  "plan mlp.onnx --memory --measure --json", "plan mlp.onnx -d T4 -b 1..4 --json"]),
    ("plan-language", {}, ["plan decoder/config.json -d T4 --json", "plan decoder/config.json --prompt 64 --json"]),
    ("size", {}, ["size mlp.onnx -b 1..4 --memory --training adamw --rps 50 --cost --json",
                  "size mlp.onnx -d T4 --rps 1e12 --p99-ms 0.0001 --json",
                  "size mlp.onnx -d T4 --memory --training sgd --json"]),
    ("size-language", {}, [f"size --llm {LLM} -d T4 --json", f"size --llm {LLM} -d T4 --cost --json"]),
    ("size-serving", {},
     [f"size --llm {LLM} --gpu T4 --tpot-ms 9 --json",
      f"size --llm {LLM} --gpu T4 --gpus 2 --deployment disaggregated --concurrency 4 --json"]),
    ("gpus", {}, ["gpus --year 2022 --json"]),
    ("gpus-device", {}, ["gpus T4 --json", "gpus 'H100 SXM' --json"]),
    ("gpus-families", {}, ["gpus --families --json"]),
    ("gpus-capabilities", {}, ["gpus --capabilities --json"]),
    ("gpus-recommend", {}, ["gpus --recommend mlp.onnx --json"]),
    ("bench", {}, ["bench mlp.onnx --iterations 30 --layers --json", "bench mlp.onnx --rate 50 --iterations 20 --json",
                   "bench slow.fake.json --engine fake --iterations 1 --json"]),
    ("bench-decoder", {},
     ["bench decoder --engine fake --weights fp32 --prompt 8 --generate 2 -b 1,2 --seconds 1 --json"]),
    ("bench-device", {}, ["bench device --json"]),
    ("doctor", FAKE_GPUS,
     ["doctor --no-measure --json", f"doctor --root {SOURCE}/tests/machines/doctor-intel.tree --json"]),
    ("tune", {"RIDGE_FAKE_CLOCK": "1"}, [" ".join(["tune identity.onnx", *TUNE, "--json"])]),
    ("tune-share", {"RIDGE_FAKE_CLOCK": "1"},
     [" ".join(["tune identity.onnx second.onnx --share", *TUNE, "--json"])]),
    ("tune-language", {"RIDGE_FAKE_CLOCK": "1"},
     ["tune decoder --engine fake --weights int8,int4 --cache u8 --prompt 8 --output-tokens 4 -c 2 "
      "--text text.txt --text-tokens 32 --ttft-ms 1000 --seconds 4 --json"]),
    ("power", FAKE_GPUS, ["power --json"]),
    ("power", NO_GPUS, ["power --json"]),
    ("power-set", FAKE_GPUS, ["power set --limit 400 --json"]),
    ("power-sweep", FAKE_GPUS, ["power sweep --from 300 --steps 2 --seconds 0.5 --json -- true"]),
    ("lab", {}, ["lab L05 L01 --seconds 20 --json"]),
    ("lab-list", {}, ["lab list --json"]),
    ("lab-occupancy", {}, ["lab occupancy -t 128 -r 37 --shared 8KiB --json"]),
    ("explain", {}, ["explain roofline --json", "explain 'Xid 79' --json", "explain nothingofthatname --json"]),
    ("history", {}, ["history --json"]),
    ("compare", {}, ["compare one.json two.json --json"]),
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Schema name and document of every command above, run in order in one folder."""
    folder = tmp_path_factory.mktemp("schemas")
    usual = dict(os.environ, HOME=str(folder), XDG_CACHE_HOME=str(known_limits.fill(folder / "cache")),
                 LC_ALL="C.UTF-8")
    script = {"inputs": [{"name": "x", "type": "FP32", "shape": [4, 16]}], "latency_ms": 5}
    (folder / "slow.fake.json").write_text(json.dumps(script))
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
              "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 128, "vocab_size": 256,
              "max_position_embeddings": 512}
    (folder / "decoder").mkdir()
    (folder / "decoder" / "config.json").write_text(json.dumps(config))
    (folder / "decoder" / "decoder.fake.json").write_text(
        json.dumps({
            "step_ms": 1, "step_ms_per_token": 0.1, "weight_bytes": 1000000, "weights":
            {"int8": {"time": 0.5}, "int4": {"deviation": 9}}
        }))
    (folder / "decoder" / "tokenizer.json").write_text(json.dumps(language_models.tokenizer()))
    (folder / "text.txt").write_text("What is read, word by word, is what forms of weights are compared on. " * 20)

    def output(command, environment):
        done = subprocess.run(["bash", "-c", f'"{RIDGE}" {command}'], cwd=folder, env=usual | environment,
                              capture_output=True, text=True, timeout=280)
        assert done.returncode in (0, 1), f"{command}: {done.stderr}"
        return done.stdout

    found = []
    for name, environment, commands in DOCUMENTS:
        if name == "compare":
            for file in ("one", "two"):
                output(f"bench mlp.onnx --layers --iterations 30 -o {file}.json", {})
        found += [(name, command, json.loads(output(command, environment))) for command in commands]
    return found


def test_schemas_are_of_draft_2020_12():
    for name in {name for name, _, _ in DOCUMENTS} | {"bench-server", "bench-device-gpu", "gpu-check"}:
        schema = schema_of(name)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", name
        Draft202012Validator.check_schema(schema)


def test_every_document_is_as_its_schema_says(documents):
    errors = [f"{command}: {error}" for name, command, document in documents for error in errors_of(name, document)]
    assert not errors, "\n".join(errors)


def test_a_document_without_a_required_member_is_refused(documents):
    for name, command, document in documents:
        headless = {key: value for key, value in document.items() if key != "about"}
        assert errors_of(name, headless, strictly=False), command


def test_added_members_break_no_reader(documents):
    name, _, document = documents[0]
    assert not errors_of(name, document | {"added_later": 1}, strictly=False)


def test_the_tables_of_contracts_are_what_the_schemas_say():
    """cmake/contract_tables.py writes them."""
    sys.path.append(str(SOURCE / "cmake"))
    import contract_tables
    page = contract_tables.PAGE.read_text()
    assert contract_tables.page_of(RIDGE, page) == page
