"""What is expected of a figure, and the verdict.

Decides from numbers alone: expected.csv, shares of the datasheet, an earlier run.
"""

import csv
import pathlib
import re

EXPECTED = list(csv.DictReader(pathlib.Path(__file__).with_name("expected.csv").read_text().splitlines()))

# The other quantity of a ratio, which the table's column `of` names.
SOURCES = {"first": "the first run", "library": "the vendor's library in the same run",
           "plain": "the run without CUDA graphs", "limits": "the measured limits", "torch": "PyTorch's rate"}
# Remedies for a row that fails, or cannot be had.
REMEDIES = {
    "": "",
    "clock": "look at the clocks and what slows them: ridge power; then measure again when the GPU is idle",
    "memory": "above: the last cache answered; below: another process uses the memory, or error correction costs: "
              "ridge doctor --area gpu",
    "kernel": "compare the page of ridge bench device and report it with this file: a kernel of ridge does not reach "
              "what it should",
    "link": "check the link's generation and width: ridge doctor --area gpu; then the slot, "
            "and the NUMA node of the process",
    "launch": "look for other load on the CPUs, and at their clocks: ridge doctor",
    "busy": "end what else uses the GPU or the CPUs and check again",
    "graph": "measure again with one caller; then report it: a graph is never slower than what it replays",
    "engine": "hold ridge bench against onnxruntime's own times, and its log against the placement of the nodes",
    "doctor": "do what ridge doctor says: ridge doctor --area gpu,versions",
    "report": "report it with this file",
    "install": "install what is missing (docs/gpu.md, Libraries needed at run time)",
    "hang": "run the command alone, and look for Xid errors in dmesg",
    "time": "give it more time: --minutes, or fewer groups: --only",
}
# A reason that says that the GPU has no such unit: nothing is wrong, and nothing can be done.
ABSENT = re.compile(r"do not multiply")
# One that says something is missing here, not that something is wrong.
MISSING = re.compile(r"open library|[Nn]o such file|not found|No module named|has no (?!kernel )|only with"
                     r"|not available|was not built|not compiled in")


class NotPossible(Exception):
    """Ends a step. `do`: of REMEDIES."""

    verdict = "not possible"

    def __init__(self, reason, do):
        super().__init__(reason)
        self.do = do


class Failed(NotPossible):
    verdict = "fail"


def error_of(reason):
    reason = reason.splitlines()[0].rstrip(":")[:300]
    if ABSENT.search(reason):
        return NotPossible(reason, "")
    missing = MISSING.search(reason) and "CUDA_ERROR" not in reason
    return NotPossible(reason, "install") if missing else Failed(reason, "report")


def id_of(*words):
    return ".".join(word.replace(" ", "-") for word in words)


def figures_of(document):
    return {row["id"]: (row["value"], document["about"]["date"]) for row in document["rows"]
            if row["value"] is not None}


def within(low, high, source):
    """The expected value of a figure."""
    return {"low": low, "high": high, "source": source, "text": ""}


def expectation(id, gpu, earlier, references):
    """The expected value of a figure, in its own unit, or None; and the remedy. `references`: value by name (datasheet,
    link, …) of which a row of the table may be a percentage; what an earlier run found comes first, then the GPU's own
    row, then the one for all."""
    rows = [row for row in EXPECTED if row["id"] == id and row["gpu"] in gpu]
    rows.sort(key=lambda row: row["gpu"] == "")
    do = rows[0]["do"] if rows else "report"
    if id in earlier:
        value, date = earlier[id]
        return within(0.95 * value, 1.05 * value, f"earlier run {date}"), do
    for row in rows:
        low, high = (float(row[end]) if row[end] else None for end in ("low", "high"))
        if row["of"] in ("datasheet", "link"):
            if row["of"] not in references:
                continue
            part = references[row["of"]] / 100
            return within(low * part, high * part, f"{row['low']} to {row['high']} % of the {row['of']}"), do
        return within(low, high, f"estimate for {row['gpu']}" if row["gpu"] else SOURCES[row["of"]]), do
    return None, do


def judged(id, what, value, unit, gpu, earlier=(), references=()):
    """A row of a figure [base unit]."""
    expected, do = expectation(id, gpu, dict(earlier), dict(references))
    row = {"id": id, "what": what, "value": value, "unit": unit, "expected": expected}
    if expected is None:
        return row | {"verdict": "not possible", "reason": "nothing is known to compare it with"}
    low, high = expected["low"], expected["high"]
    good = (low is None or value >= low) and (high is None or value <= high)
    return row | {"verdict": "pass" if good else "fail", "do": "" if good else REMEDIES[do]}


def yes_or_no(id, what, good, expected, found, remedy):
    """`expected`, `found`: in words."""
    return {"id": id, "what": what, "expected": {"low": None, "high": None, "source": "", "text": expected},
            "verdict": "pass" if good else "fail", "found": found, "do": "" if good else REMEDIES[remedy]}


def readable(value, unit):
    if unit == "×":
        return f"{value:.3g} ×"
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1), ("m", 1e-3), ("µ", 1e-6),
                         ("n", 1e-9)):
        if unit and abs(value) >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g}{' ' + unit if unit else ''}"


def text_of(row):
    """One line."""
    found = readable(row["value"], row["unit"]) if row["value"] is not None else row["found"]
    expected = ""
    if row["expected"] and row["expected"]["text"]:
        expected = f" (expected: {row['expected']['text']})"
    elif row["expected"]:
        ends = [readable(row["expected"][end], row["unit"]) if row["expected"][end] is not None else "…"
                for end in ("low", "high")]
        expected = f" (expected {ends[0]} to {ends[1]}: {row['expected']['source']})"
    said = "; ".join(part for part in (found, row["reason"]) if part)
    return f"{row['what']}: {said}{expected}{' → ' + row['do'] if row['do'] else ''}"
