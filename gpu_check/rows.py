"""The checks: per group a generator of steps (id, what, function that returns rows)."""

import json
import os
import pathlib
import re
import shutil
import sys
from functools import partial

from judge import REMEDIES, Failed, NotPossible, error_of, id_of, judged, yes_or_no

HERE = pathlib.Path(__file__).parent
UNITS = {"peaks": ("flops_per_s", "FLOP/s"), "bandwidth": ("bytes_per_s", "B/s"), "links": ("bytes_per_s", "B/s"),
         "starts": ("seconds", "s")}
NAMES = {"peaks": ("precision", "way"), "bandwidth": ("level", "access"), "links": ("way", "memory"),
         "starts": ("what",)}
TORCH = {**{name: f"limits.{name}.cuBLASLt" for name in ("bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8")},
         "copy": "limits.DRAM.copy", "host-to-device": "limits.host-to-device.pinned",
         "device-to-host": "limits.device-to-host.pinned",
         "lab_matmul": "lab.matmul_tensor.rate", "lab_attention": "lab.attention_half.rate"}
# Rows of the lab's own products, and the kernels that are meant: the first of them that was measured, as the lab names
# its variants.
PRODUCTS = {"mma": ("tensor cores, blocks of 128 × 256", "tensor cores, blocks of 128 × 128"),
            "wgmma": ("tensor cores by warp groups, blocks of 128 × 256",)}
LIBRARY = "vendor's library"
UNMEASURED = "nothing was measured in the time of the experiment"
LEFT_OUT = ("unified",)  # it asks for memory that may be lent to others
LAB_SECONDS, SANITIZED_SECONDS = 10, 1  # of measuring: opening the GPU, references and compilers come on top
NOT_OURS = (LIBRARY, "tensor cores alone")
# The lab's cases that torch_reference.py has too.
LIKE_PYTORCHS = ("product of 4096 × 4096 BF16", "FP16 attention over 2048 positions, 16 heads of 64")
# Kernels with shared memory and their own layouts
CHECKED = ["attention_half", "matmul_tensor", "matmul", "transpose", "layer_norm", "reduction"]


def limit_of(check, usual):
    return check.options.row_seconds or usual


def figure(check, id, what, value, unit, references=()):
    check.measured[id] = value
    return judged(id, what, value, unit, check.driver["name"], check.options.earlier, references)


# ------------------------------------------------------------------------------------------------------------ facts

def facts(check):
    yield "facts.doctor", "ridge doctor: GPU and versions", partial(doctor, check)
    yield "facts.driver", "driver against NVML", partial(driver_and_nvml, check)
    yield "facts.nvidia_smi", "NVML against nvidia-smi", partial(nvml_and_smi, check)


def doctor(check):
    document = check.ridge("doctor", "--area", "gpu,versions", "--no-measure", limit=limit_of(check, 60),
                           answers=(0, 1))
    check.measured["doctor"] = document
    wrong = [finding["title"] for finding in document["findings"] if finding["verdict"] == "fail"]
    return [yes_or_no("facts.doctor", "ridge doctor: GPU and versions", not wrong, "no check fails",
                      ", ".join(wrong) or "none", "doctor")]


def nvml_gpu(check):
    cards = check.measured.get("doctor", {}).get("cards", [])
    found = [card for card in cards if str(card.get("pci_address")).lower() == check.driver["pci_address"]]
    if not found:
        raise NotPossible(f"NVML has no GPU at {check.driver['pci_address']}", "install")
    return found[0]


def driver_and_nvml(check):
    """The driver keeps some memory to itself."""
    gpu = nvml_gpu(check)
    if gpu["mig"] is True:
        raise NotPossible("the GPU is divided (MIG): NVML describes the whole of it", "")
    differ = [f"{name} {check.driver[name]}, NVML {gpu[name]}" for name in ("name", "uuid", "compute_capability")
              if check.driver[name] != gpu[name]]
    share = check.driver["memory_total_bytes"] / gpu["memory_total_bytes"]
    if not 0.95 <= share <= 1.001:
        differ.append(f"memory {check.driver['memory_total_bytes']} of {gpu['memory_total_bytes']}")
    return [yes_or_no("facts.driver", "driver against NVML", not differ, "equal: name, uuid, capability, memory",
                      "; ".join(differ) or "equal", "report")]


def nvml_and_smi(check):
    gpu = nvml_gpu(check)
    asked = {"name": "name", "uuid": "uuid", "power.limit": "power_limit_mw", "memory.total": "memory_total_bytes"}
    status, out, err = check.run(["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits", "-i",
                                  gpu["uuid"]], limit_of(check, 30))
    if status:
        raise error_of((err or out).strip() or f"nvidia-smi: exit status {status}")
    said = dict(zip(asked.values(), out.strip().split(", "), strict=True))
    for name, unit in (("power_limit_mw", 1e3), ("memory_total_bytes", 1 << 20)):
        if isinstance(gpu[name], int) and re.fullmatch(r"[\d.]+", said[name]):
            said[name] = gpu[name] if abs(float(said[name]) * unit / gpu[name] - 1) < 0.01 else said[name]
    differ = [f"{name} {gpu[name]}, nvidia-smi {value}" for name, value in said.items() if gpu[name] != value]
    return [yes_or_no("facts.nvidia_smi", "NVML against nvidia-smi", not differ,
                      "equal: name, uuid, power limit, memory", "; ".join(differ) or "equal", "report")]


# ----------------------------------------------------------------------------------------------------------- limits

def limits(check):
    yield "limits", "limits of the GPU", partial(measured_limits, check)


def repeat(check):
    yield "repeat", "the second run over the first", partial(repeated, check)


def bench_device(check, *arguments):
    return check.ridge("bench", "device", "-d", check.device, "--seconds", check.seconds(60), "--fresh", *arguments,
                       limit=limit_of(check, 120))


def limit_rows(document):
    for part, names in NAMES.items():
        for row in document[part]:
            words = [row[name] for name in names]
            yield part, id_of("limits", *words), ", ".join(words), row


def references_of(shares):
    kinds = {"datasheet": "datasheet", "PCIe": "link"}
    return {kinds[kind]: share["value"] for share in shares if (kind := share["of"].split()[0]) in kinds}


def measured_limits(check):
    made = []
    for part, id, what, row in limit_rows(bench_device(check)):
        member, unit = UNITS[part]
        if row.get("reason"):
            error = error_of(row["reason"])
            made.append({"id": id, "what": what, "verdict": error.verdict, "reason": str(error),
                         "do": REMEDIES[error.do]})
            continue
        made.append(figure(check, id, what, row[member], unit, references_of(row["shares"])))
    return made


def repeated(check):
    first = {name: value for name, value in check.measured.items() if name.startswith("limits.")}
    if not first:
        raise NotPossible("there is no first run", "")
    second = bench_device(check, "--cache", check.folder / "second.json")
    # A cache in two halves is not steady: where an array lies in it decides.
    ratios = {what: row[UNITS[part][0]] / first[id] for part, id, what, row in limit_rows(second)
              if id in first and (part == "peaks" or part == "bandwidth" and row["level"] != "last cache")}
    what, ratio = max(ratios.items(), key=lambda item: abs(item[1] - 1))
    return [figure(check, "repeat", "the second run over the first", ratio, "") | {"found": f"farthest: {what}"}]


# -------------------------------------------------------------------------------------------------------------- lab

def lab(check):
    claims = check.ridge("lab", "list", limit=30)["claims"]
    for name in dict.fromkeys(name for claim in claims if "cuda" in claim["on"] for name in claim["experiments"]):
        if name not in LEFT_OUT:
            yield f"lab.{name}", f"experiment {name}", partial(experiment, check, name)


def experiment(check, name):
    # Its time is that of measuring; references, which it computes on the CPU, and compiling come before.
    document = check.ridge("lab", name, "-d", check.device, "--seconds", check.seconds(LAB_SECONDS, quick=5),
                           limit=limit_of(check, 150), answers=(0, 1))
    counts = {verdict: count for verdict, count in document["verdicts"].items() if count}
    found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    if not document["cases"]:
        raise (NotPossible(UNMEASURED, "time") if "not measured" in counts
               else NotPossible("nothing of it can be tested on this GPU", ""))
    # A contradicted claim is a result: the claims are those of guides. A wrong number ends the verb.
    made = [yes_or_no(f"lab.{name}", f"experiment {name}", True, "results equal the reference's", found, "")]
    if name == "matmul_tensor":
        made += products(check, document["cases"])
    for case in document["cases"]:
        rates = [variant["flops_per_s"] for variant in case["variants"] if variant["name"] not in NOT_OURS]
        if rates and case["work"] in LIKE_PYTORCHS:
            check.measured[f"lab.{name}.rate"] = max(rates)
    effects = [row["effect"]["value"] for row in document["ledger"] if "effect" in row
               and row["claimed"]["kind"] == "gain"]
    if effects and name in ("pinned", "streams", "small_launches"):
        made.append(figure(check, f"lab.{name}.gain", f"gain of {name}", max(effects), "×"))
    return made


def products(check, cases):
    """Our products over the library's of the same document: of each format's largest product, the one that is farthest
    behind."""
    made = []
    for kind, names in PRODUCTS.items():
        id, what, ratios = f"lab.matmul_tensor.{kind}", f"product by {kind} over the library's", {}
        for case in cases:
            rates = {variant["name"]: variant["flops_per_s"] for variant in case["variants"]}
            own = next((rates[name] for name in names if name in rates), None)
            if own and LIBRARY in rates:
                ratios[case["work"].split()[-1]] = own / rates[LIBRARY], case["work"]  # sizes grow from case to case
        if ratios:
            ratio, work = min(ratios.values())
            made.append(figure(check, id, what, ratio, "×") | {"found": f"{work}, the farthest behind"})
        else:
            made.append({"id": id, "what": what, "verdict": "not possible",
                         "reason": "one of the two was not measured"})
    return made


# ------------------------------------------------------------------------------------------------------------ torch

def torch(check):
    yield "torch", "references by PyTorch", partial(references, check)


def references(check):
    status, out, err = check.run([sys.executable, HERE / "torch_reference.py", check.index], limit_of(check, 200))
    if status:
        raise error_of((err.strip().splitlines() or [f"exit status {status}"])[-1])
    rates = json.loads(out)
    return [torch_row(check, name, own, rates[name]) for name, own in TORCH.items()]


def torch_row(check, name, own, rate):
    what = f"{own} over PyTorch's"
    if not rate or own not in check.measured:
        return {"id": f"torch.{name}", "what": what, "verdict": "not possible",
                "reason": "one of the two was not measured"}
    return figure(check, f"torch.{name}", what, check.measured[own] / rate, "×")


# ---------------------------------------------------------------------------------------------------------- engines

def engines(check):
    model = check.folder / "resnet50.onnx"
    status, _, err = check.run([check.ridge_program, "make", "resnet50", "-o", model], 60)
    if status:
        raise Failed(err.strip(), "report")
    for batch in (1, 8, 64):
        for graph in (0, 1):
            what = f"ResNet-50, batch {batch}, {'with' if graph else 'without'} CUDA graphs"
            yield engine_id(batch, graph), what, partial(bench, check, model, what, batch, graph)
    yield "engines.callers", "4 callers and 2 instances with CUDA graphs", partial(callers, check, model)


def engine_id(batch, graph):
    return f"engines.resnet50.{batch}{'.graph' if graph else ''}"


def bench_model(check, model, batch, graph, *arguments):
    return check.ridge("bench", model, "-d", check.device, "-b", batch, "--seconds", check.seconds(6), "--precision",
                       "fp32",
                       "--engine-option", f"cuda.enable_cuda_graph={graph}", *arguments, limit=limit_of(check, 60))


def bench(check, model, what, batch, graph):
    document = bench_model(check, model, batch, graph)
    made = [figure(check, engine_id(batch, graph), what, document["latency_ms"]["p50"] / 1e3, "s")]
    if "CUDA" not in document["executed"] or "CPU" in document["executed"]:
        made.append(yes_or_no(f"{engine_id(batch, graph)}.placement", what, False, "all nodes on CUDA",
                              document["executed"], "engine"))
    if batch == 64 and not graph and document.get("percent_of_limit"):
        made.append(figure(check, "engines.share_of_the_limit", "share of the limit at batch 64 [%]",
                           document["percent_of_limit"], ""))
    plain = check.measured.get(engine_id(batch, 0))
    if batch == 1 and graph and plain:
        made.append(figure(check, "engines.graph_gain", "gain of CUDA graphs at batch 1",
                           plain / check.measured[engine_id(1, 1)], "×"))
    return made


def callers(check, model):
    document = bench_model(check, model, 8, 1, "-c", "4", "--instances", "2")
    return [yes_or_no("engines.callers", "4 callers and 2 instances with CUDA graphs", document["samples"] > 0, "runs",
                      f"{document['samples']} runs", "engine")]


# ----------------------------------------------------------------------------------------------------------- memory

def memory(check):
    yield "memory.cuda", "CUDA shared memory between client and ridge serve", partial(exchange, check)


def exchange(check):
    model = check.folder / "identity.onnx"
    check.run([check.ridge_program, "make", "identity", "-o", model], 60)
    command = [sys.executable, HERE / "driver.py", "exchange", check.index, check.ridge_program, model]
    status, out, err = check.run(command, limit_of(check, 60))
    if status:
        raise error_of((err.strip().splitlines() or [f"exit status {status}"])[-1])
    counts = json.loads(out.splitlines()[-1])
    return [yes_or_no("memory.cuda", "CUDA shared memory between client and ridge serve", counts["wrong"] == 0,
                      "all values equal", f"{counts['wrong']} of {counts['values']} values differ", "report")]


# -------------------------------------------------------------------------------------------------------- sanitizer

def sanitizer(check):
    places = [shutil.which("compute-sanitizer"),
              *sorted(map(str, pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer")))]
    program = next((place for place in places if place), None)
    if program is None:
        yield "sanitizer", "memcheck and racecheck", no_sanitizer
        return
    for tool in ("memcheck", "racecheck"):
        for name in CHECKED:
            yield f"sanitizer.{tool}.{name}", f"{tool} of {name}", partial(sanitized, check, program, tool, name)


def no_sanitizer():
    raise NotPossible("compute-sanitizer was not found on the PATH, nor in /usr/local/cuda*/bin", "install")


def sanitized(check, program, tool, name):
    # Each kernel runs many times: the first launches are enough, and a time that is over with the first comparison.
    # The program itself where it is beside ridge: the tool watches one, whatever that one starts.
    lab = pathlib.Path(check.ridge_program).with_name("ridge-lab")
    words = [lab] if lab.exists() else [check.ridge_program, "lab"]
    command = [program, "--tool", tool, "--launch-count", "20", *words, name, "-d", check.device,
               "--seconds", SANITIZED_SECONDS, "--json"]
    status, out, err = check.run(command, limit_of(check, 120))
    summary = re.search(r"SUMMARY: (\d+) (?:error|hazard)s?[^\n]*", out + err)
    if summary is None:
        raise Failed(f"{os.path.basename(program)} gave no summary, and ended with {status}", "hang")
    # The status is that of the checked program, which may have failed before it started a kernel.
    if summary[1] == "0" and status == 1:
        raise NotPossible(UNMEASURED, "time")
    found = summary[0] if status == 0 else f"{summary[0]}; the program ended with {status}"
    return [yes_or_no(f"sanitizer.{tool}.{name}", f"{tool} of {name}", status == 0 and summary[1] == "0",
                      f"0 {'errors' if tool == 'memcheck' else 'hazards'}, and exit status 0", found, "report")]


GROUPS = {"facts": facts, "limits": limits, "lab": lab, "torch": torch, "engines": engines, "memory": memory,
          "sanitizer": sanitizer, "repeat": repeat}
