"""`ridge size` and benchmarks/silicon, which judges it, give the same for measured runs: chunk, cache, split and engine
reach the simulation by one way."""

import csv
import json
import os
import pathlib
import subprocess

import pytest

RIDGE = pathlib.Path(os.environ["RIDGE"])
DATA = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "benchmarks/data/silicon"
# Runs whose weights are as the model's config.json says.
ROWS = {
    "minimaxm2_5_b200_vllm_fp8_agg_1024x1024_c16_cfg691",
    "minimaxm2_5_b200_vllm_fp8_agg_1024x1024_c16_cfg633",
    "dsr1_b200_trtllm_fp8_agg_1024x1024_c16_cfg75",
    "dsr1_b200_sglang_fp8_agg_1024x1024_c16_cfg199",
    "2026_03_25_minimax_m2_5_h100_sxm_vllm_fp8_agg_1024x1024_c16_tp4_0_ep4_0_235",
}


def rows():
    with (DATA / "serving.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["id"] in ROWS]


@pytest.fixture(scope="module")
def predicted(tmp_path_factory):
    program, table = RIDGE.parent / "benchmarks/silicon", tmp_path_factory.mktemp("silicon") / "rows.csv"
    if not program.exists():
        pytest.skip(f"no {program}: ninja silicon")
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows()[0].keys())
        writer.writeheader()
        writer.writerows(rows())
    output = subprocess.run([program, table, DATA / "configs"], check=True, capture_output=True, text=True).stdout
    return {p["id"]: p for p in csv.DictReader(output.splitlines())}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_the_verb_and_the_benchmark_agree(row, predicted):
    options = {
        "--gpu": row["device"], "--engine": row["engine"], "--tp": int(row["gpus"]) // int(row["attention_dp"]),
        "--dp": row["attention_dp"],
        "--ep": row["expert_ep"], "--gpus": row["gpus"], "--prompt": row["prompt_max"],
        "--output-tokens": row["output_max"], "--spread": 20,
        "--concurrency": row["concurrency"], "--chunk": row["chunk_tokens"],
        "--receive-interval": row["receive_interval"], "--kv": "fp8" if row["cache_bits"] == "8" else "fp16",
    }
    command = [RIDGE, "size", DATA / f"configs/{row['model']}.json", "--json",
               *(str(word) for option in options.items() for word in option)]
    serving = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["serving"]
    for figure in ("ttft_ms", "tpot_ms"):
        assert serving[figure]["mean"] == pytest.approx(float(predicted[row["id"]][figure]), rel=1e-3), figure
