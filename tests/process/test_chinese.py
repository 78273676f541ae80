"""The pages' Chinese: each text exists in the sources, one term has one word (docs/terms.md), and punctuation is
full-width."""

import json
import os
import pathlib
import re
import subprocess

import pytest

import browser

SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
CHINESE = json.loads((SOURCE / "src/report/page/chinese.json").read_text())
TEXTS, SENTENCES = CHINESE["texts"], CHINESE["sentences"]
VALUE = re.compile(r"\{[#=]?\}")

# In these a term of the list is an everyday word.
OTHER_MEANINGS = {"power": "of a test, in the list", "runs": "their number", "provider": "of prices",
                  "region": "of a cloud", "graph": "of CUDA", "graph node": "of CUDA", "area": "", "slowdown": ""}
# Terms whose word must be in every longer text that has them.
CORE = ["batch", "arithmetic intensity", "ridge point", "limiter", "engine", "instance", "precision", "latency",
        "throughput", "estimate", "gain", "Pareto front",
        "candidate", "deviation", "utilisation", "spread", "share of the limit", "accuracy guard", "live activations",
        "peak"]
REFUSED = ["批量", "批大小", "计算强度", "账本", "剖析", "守卫"]


def terms():
    """English → Chinese, where an item of the list has as many words in one language as in the other."""
    found = {}
    for words, translation in re.findall(r"^- \*\*(.+?)\*\*\s+(.+?):\s", (SOURCE / "docs/terms.md").read_text(),
                                         re.MULTILINE):
        english = [re.sub(r" *\(.*?\)", "", part).strip() for part in words.split(",")]
        chinese = [re.sub(r"（.*?）", "", part).strip() for part in re.split("[、；]", translation)]
        if len(english) == len(chinese):
            found.update(zip(english, chinese, strict=True))
    return found


def literals():
    """All text of the sources that can reach a page, values as {}: literals of C++ and scripts (neighbours joined),
    tables."""
    texts = []
    for path in sorted((SOURCE / "src").rglob("*.cc")) + sorted((SOURCE / "src").rglob("*.h")):
        code = re.sub(r"//[^\n]*", "", path.read_text())
        for match in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', code):
            texts.append("".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[0])).replace('\\"', '"'))
    texts += [re.sub(r"'\s*\+\s*'", "", path.read_text()).replace("\\'", "'")
              for path in sorted((SOURCE / "src/report/page").glob("*.js"))]
    texts += [path.read_text() for path in sorted((SOURCE / "gpu_check").glob("*.py"))]
    texts += [(SOURCE / "data" / name).read_text() for name in ("claims.csv", "gpus.csv")]
    return "\n".join(texts).replace("_", " ")


def test_every_text_is_still_said_somewhere():
    raw = literals()
    said = raw + re.sub(r"\$?\{[^{}]*\}", "{}", raw)

    def is_said(piece):
        """Whole, or put together of two parts."""
        words = piece.split()
        return len(words) < 2 or any(" ".join(words[:i]) in said and " ".join(words[i:]) in said
                                     for i in range(len(words)))

    lost = [text for text in TEXTS
            if not all(map(is_said, re.split(r"[;:,.()] ?|\{[#=]?\}|'", text.replace("_", " "))))]
    assert lost == [], "reworded in the sources: reword it in src/report/page/chinese.json too, or delete the row"


def test_one_term_has_one_word():
    words = terms()
    assert len(words) > 80
    exact = {text: (TEXTS[text], word) for term, word in words.items() for text in (term, f"{term}s")
             if text in TEXTS and text not in OTHER_MEANINGS and not TEXTS[text].startswith(word)
             and not TEXTS[text].endswith(word)}
    assert exact == {}
    inside = [(term, text, chinese) for term in CORE for text, chinese in TEXTS.items()
              if re.search(rf"(?<![\w-]){re.escape(term)}s?(?![\w-])", text) and words[term] not in chinese]
    assert inside == []


@pytest.mark.parametrize("rows", [TEXTS, SENTENCES], ids=["texts", "sentences"])
def test_chinese_has_full_width_punctuation_and_no_second_word(rows):
    for text, chinese in rows.items():
        assert not browser.HALF_WIDTH.search(chinese), text
        assert not any(word in chinese for word in REFUSED), text


def test_every_value_of_a_text_is_used_once():
    for text, chinese in TEXTS.items():
        values = len(VALUE.findall(text))
        assert {int(number) for number in re.findall(r"\{(\d)\}", chinese)} <= set(range(values)), text


def test_every_id_has_its_sentence():
    """Ids that the sources give: what the page cannot compose it would show in English."""
    code = "\n".join(path.read_text() for path in (SOURCE / "src").rglob("*.[ch]*")
                     if not path.name.endswith("_test.cc"))
    claims = re.findall(r"^(L\d\d),", (SOURCE / "data/claims.csv").read_text(), re.MULTILINE)
    assert {f"claim.{claim}" for claim in claims} <= set(SENTENCES)
    for kind, folder in (("skip", "src/tune"), ("refused", "src/tune")):
        for name in [key.split(".", 1)[1] for key in SENTENCES if key.startswith(kind + ".")]:
            assert f'"{name}"' in code, f"{kind}.{name} is no id of {folder} any more"


def test_every_documented_option_has_its_chinese():
    documented = {option for path in (SOURCE / "docs/cli").glob("*.md")
                  for item in re.findall(r"^- (`-[^`]*`)", path.read_text(), re.MULTILINE)
                  for option in re.findall(r"--[a-z0-9][a-z0-9-]*", item)}
    rows = {line.split(": ")[0].split()[-1] for line in (SOURCE / "data/explain/zh/flags.md").read_text().splitlines()
            if not line.startswith("#")}
    assert len(documented) > 100 and rows == documented


def test_an_option_is_explained_in_chinese():
    done = subprocess.run([os.environ["RIDGE"], "explain", "--lang", "zh", "--max-batch"], capture_output=True,
                          text=True, check=True)
    assert "--max-batch：最多试到的批次" in done.stdout


def test_a_chinese_question_is_answered_in_chinese():
    done = subprocess.run([os.environ["RIDGE"], "explain", "脊点"], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"})
    assert "说明" in done.stdout
