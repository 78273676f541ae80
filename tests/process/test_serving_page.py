"""The page of `ridge size --gpu` in a real browser: the ways that no other beats, kernels beside their limits, ranges
beside figures."""
# ctest: timeout 120

import json
import os
import subprocess

import pytest

import browser

RIDGE = os.environ["RIDGE"]
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32,
          "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    done = subprocess.run([RIDGE, "size", "config.json", "--gpu", "H100 SXM,L40S", "--gpus", "2", "--tpot-ms", "20",
                           "--model-id", browser.HOSTILE,
                           "--manifest", "out.yaml", "--html", "page.html", "--json"], cwd=folder, capture_output=True,
                          text=True, timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    return folder / "page.html", json.loads(done.stdout)


def test_the_chart_has_the_front_and_the_best_way(written):
    path, document = written
    with browser.shown(path, 1280) as (page, _):
        sets = page.evaluate("""() => Chart.getChart('front-chart').data.datasets
            .map(set => [set.type, set.label, set.data.map(p => [p.x, p.y])])""")
    front = [[way["tokens_per_s_per_user"], way["tokens_per_s_per_gpu"]] for way in document["front"]]
    best = document["serving"]
    assert ["scatter", "the best way", [[best["tokens_per_s_per_user"], best["tokens_per_s_per_gpu"]]]] in sets
    assert ["line", "", front[::-1]] in sets
    assert {f"{way['gpu']} · {way['engine']}"
            for way in document["front"] + document["ways"]} <= {label for _, label, _ in sets}


def test_every_kernel_stands_beside_its_limit_and_every_figure_beside_its_range(written):
    path, document = written
    with browser.shown(path, 1280) as (page, _):
        for step in ("decode", "prompt"):
            kernels = document["serving"][f"{step}_step"]
            bars = page.evaluate(f"Chart.getChart('{step}-chart').data.datasets.map(set => set.data)")
            assert bars == [[kernel["ms"] for kernel in kernels], [kernel["bound_ms"] for kernel in kernels]]
            assert page.locator(f"#{step} tbody tr").count() == len(kernels)
        rows = page.locator("#ways tbody tr").all()
        assert len(rows) == len(document["ways"])
        for row in (rows[0], rows[-1]):
            assert row.locator(".below").count() == row.locator(".below").filter(has_text="–").count() >= 4


def test_prefill_workers_stand_beside_decode_workers(written):
    path, _ = written
    done = subprocess.run([RIDGE, "size", "config.json", "--gpu", "H100 SXM", "--gpus", "4", "--prefill-workers", "2",
                           "--prefill-tp", "1", "--tp", "2",
                           "--engine", "vllm", "--concurrency", "16", "--html", "pools.html", "--json"],
                          cwd=path.parent, capture_output=True, text=True,
                          timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    serving = json.loads(done.stdout)["serving"]
    with browser.shown(path.parent / "pools.html", 1280) as (page, complaints):
        assert "2 × TP\u00a01 prefill, 1 × TP\u00a02 decode" in page.locator("body").inner_text()
        for member in ("busy", "transfer_ms", "memory.weights"):
            value = serving["prefill"]
            for name in member.split("."):
                value = value[name]
            shown = page.locator(f'[data-member="serving.prefill.{member}"]')
            assert [value] == shown.evaluate_all("all => all.map(e => +e.dataset.value)"), member
        assert (page.locator("#launch-line").text_content() == serving["launch"]
                and serving["launch"].count("vllm serve") == 2)
        assert complaints == []


def test_names_from_outside_stay_text_and_the_manifest_opens_by_the_keyboard(written):
    path, document = written
    with browser.shown(path, 1280) as (page, complaints):
        assert page.locator("#launch-line").text_content() == document["serving"]["launch"]
        manifest = page.locator("#manifest")
        assert not manifest.is_visible()
        page.locator("#launch summary").focus()
        page.keyboard.press("Enter")
        assert manifest.is_visible() and manifest.text_content() == document["manifest"]
        assert page.title() != "taken" and complaints == []
