"""ridge from Python: plan, size, bench and tune a model; each answer is the program's own, as a value.

    import ridge
    print(ridge.plan("resnet50").bound_ms)
    ridge.bench("model.onnx", batch=8, shape={"sequence": "128"}).throughput_per_s
    ridge.tune("model.onnx", output="repo", seconds=30).speedup

MODEL is a file, or the name of a reference model. Options are those of `ridge VERB --help`, with _ for -: True gives a
flag, a list repeats the option, a dict gives NAME=VALUE. Names and units of results are those of the program's JSON
(docs/contracts.md); what has no field here is in `raw`.
"""

from __future__ import annotations

import dataclasses
import html
import json
import os
import pathlib
import subprocess
import typing

__all__ = ["Bench", "Error", "Latency", "Plan", "Result", "Tuning", "bench", "plan", "program", "size", "tune"]

_NO = 1  # exit status: done, and the answer is no


class Error(Exception):
    """The program refused (`status` 2, wrong usage) or failed (3); `message` is what it said."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status
        self.message = message


def program() -> str:
    """The path of the program: that of the environment variable RIDGE, else the one in this package."""
    path = os.environ.get("RIDGE") or str(pathlib.Path(__file__).parent / "bin" / "ridge")
    if not os.access(path, os.X_OK):
        raise Error(3, f"there is no program {path}: install ridge's wheel, or name the program by the variable RIDGE")
    return path


@dataclasses.dataclass(frozen=True)
class Latency:
    """Times of one run of a batch [ms]."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    min: float
    max: float


@dataclasses.dataclass(frozen=True)
class Result:
    """`raw` is the whole JSON document; `ok` is false where the answer is no, such as a goal that cannot be met."""

    raw: dict = dataclasses.field(repr=False)
    ok: bool

    def _rows(self) -> list[tuple[str, str]]:
        return []

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                       f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
                       for name, text in self._rows())
        return f"<table>{rows}</table>"


@dataclasses.dataclass(frozen=True)
class Plan(Result):
    """A model's cost and the least time a device needs for it. None: not known, or not asked for."""

    model: str
    precision: typing.Optional[str] = None
    batch: typing.Optional[int] = None
    threads: typing.Optional[int] = None
    flops: typing.Optional[float] = None
    params: typing.Optional[float] = None
    bytes: typing.Optional[float] = None
    bound_ms: typing.Optional[float] = None
    limiter: typing.Optional[str] = None
    estimate_ms: typing.Optional[float] = None
    estimate_per_s: typing.Optional[float] = None
    estimate_error_percent: typing.Optional[float] = None

    def _rows(self):
        estimate = [("estimate (carried over)",
                     f"{_number(self.estimate_ms, 'ms')} ± {_number(self.estimate_error_percent, '%')}")]
        uncounted = not self.flops and bool(self.raw.get("without_rule"))
        return [("model", f"{self.model}, batch {self.batch}, {self.precision}"),
                ("device", (self.raw.get("device") or {}).get("name", "")),
                ("FLOPs (derived)", "not known" if uncounted else _number((self.flops or 0) / 1e9, "GFLOP")),
                ("bound (derived)", _bound(self.bound_ms, self.limiter)),
                *(estimate if self.estimate_ms else [])]


@dataclasses.dataclass(frozen=True)
class Bench(Result):
    """A measurement beside its limit. bound_ms and percent_of_limit are 0 where no limit is known."""

    model: str
    engine: str
    engine_version: str
    device: str
    precision: str
    batch: int
    threads: int
    instances: int
    latency_ms: Latency
    throughput_per_s: float
    ci95_percent: typing.Optional[float]
    samples: int
    bound_ms: float
    percent_of_limit: float
    limiter: str
    interrupted: bool
    advice: str

    def _rows(self):
        return [("model", f"{self.model}, batch {self.batch}, {self.precision}"),
                ("run by",
                 f"{self.engine} {self.engine_version} on {self.device}, {self.instances} × {self.threads} threads"),
                ("latency (measured)",
                 f"{_number(self.latency_ms.mean, 'ms')} ± {_number(self.ci95_percent, '%')} at 95 %, "
                                       f"p50 {_number(self.latency_ms.p50, 'ms')}, "
                                       f"p99 {_number(self.latency_ms.p99, 'ms')}"),
                ("throughput (measured)", _number(self.throughput_per_s, "rows/s")),
                ("bound (derived)", _bound(self.bound_ms, self.limiter)),
                ("share of the limit", _number(self.percent_of_limit, "%") if self.bound_ms else "not known"),
                ("advice", self.advice)]


@dataclasses.dataclass(frozen=True)
class Tuning(Result):
    """The fastest way found. baseline, best, candidate and speedup are None for several models (share=True): see
    raw."""

    choice: str
    conclusion: str
    interrupted: bool
    seconds: float
    repository: typing.Optional[str]
    baseline: typing.Optional[Bench] = None
    best: typing.Optional[Bench] = None
    candidate: typing.Optional[dict] = None
    speedup: typing.Optional[float] = None

    def _rows(self):
        sides = [(name,
                  f"{side.engine} {side.precision}, {side.instances} × {side.threads} threads, batch {side.batch}: "
                        f"{_number(side.throughput_per_s, 'rows/s')}, p99 {_number(side.latency_ms.p99, 'ms')} "
                        "(measured)")
                 for name, side in (("untuned", self.baseline), ("tuned", self.best)) if side]
        return [*sides, ("conclusion", self.conclusion), ("repository", self.repository or "not written")]


def plan(model: typing.Union[str, os.PathLike], **options) -> Plan:
    """The model's cost and the least time for it, before it runs: `ridge plan`."""
    return _ask(Plan, "plan", [model], options)


def size(model: typing.Union[str, os.PathLike], **options) -> Plan:
    """The plan with the answers to questions of size, in `raw`: load, cost, training: `ridge size`."""
    return _ask(Plan, "size", [model], options)


def bench(model: typing.Union[str, os.PathLike], **options) -> Bench:
    """The model's speed here, beside the limit: `ridge bench`."""
    return _ask(Bench, "bench", [model], options)


def tune(model: typing.Union[str, os.PathLike, list], **options) -> Tuning:
    """The fastest way to run the model here, or with share=True a list of models together: `ridge tune`."""
    return _ask(Tuning, "tune", model if isinstance(model, (list, tuple)) else [model], options)


def _ask(kind, verb, models, options):
    command = [program(), verb, *map(os.fspath, models), *_arguments(options), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, _NO) or not done.stdout:
        raise Error(done.returncode,
                    done.stderr.strip() or f"ridge {verb} ended with {done.returncode} and said nothing")
    return _value(kind, json.loads(done.stdout), done.returncode == 0)


def _arguments(options):
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
            continue
        if isinstance(value, dict):
            value = [f"{key}={text}" for key, text in value.items()]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [option, os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    return words


_NESTED = {"latency_ms": Latency, "baseline": Bench, "best": Bench}


def _value(kind, raw, ok=True):
    """`kind` from the members of `raw` that it has fields for."""
    values = {"raw": raw, "ok": ok} if issubclass(kind, Result) else {}
    for name in {field.name for field in dataclasses.fields(kind)} - {"raw", "ok"}:
        if name in raw:
            nested = _NESTED.get(name)
            values[name] = _value(nested, raw[name]) if nested and raw[name] is not None else raw[name]
    return kind(**values)


def _number(value, unit):
    return "-" if value is None else f"{value:.4g} {unit}"


def _bound(bound_ms, limiter):
    return f"{_number(bound_ms, 'ms')}, limited by {limiter}" if bound_ms else "not known"
