#!/usr/bin/env python3
"""Renews data/engine_flags.csv: the flags that ridge writes into launch lines, as the engines' own packages declare
them.

    python benchmarks/engine_flags.py [vllm==0.33.0] [sglang==0.5.23]

Downloads the packages (350 MB) without installing them and reads their sources. Fails if a flag of the table is gone:
then src/llm/launch.cc has to change. Versions stand in src/llm/launch.cc too; a test compares them. TensorRT-LLM's
package on PyPI has no sources (it points to another index): its rows are read from tensorrt_llm/commands/serve.py and
tensorrt_llm/llmapi/llm_args.py of its repository by hand.
"""

import ast
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

TABLE = pathlib.Path(__file__).resolve().parent.parent / "data/engine_flags.csv"
PLAIN = {"int": "integer", "float": "number", "str": "text", "bool": "switch"}


def literals(trees):
    """NAME = Literal["a", …] or a list of texts, of all modules: name → values."""
    found = {}
    for tree in trees:
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if not isinstance(target, ast.Name) or node.value is None:
                continue
            value = node.value.slice if isinstance(node.value, ast.Subscript) else node.value
            if isinstance(value, (ast.Tuple, ast.List)):
                texts = [each.value for each in value.elts if isinstance(each, ast.Constant)
                         and isinstance(each.value, str)]
                if len(texts) == len(value.elts):
                    found[target.id] = texts
    return found


def values_of(annotation, known):
    """A type's values, as a cell of the table: choices, else the first plain type in it."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            return " ".join(str(each.value) for each in getattr(node.slice, "elts", [node.slice]))
    names = [node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)]
    for name in names:
        if name in known:
            return " ".join(known[name])
    return next((PLAIN[name] for name in names if name in PLAIN), "text")


def fields(trees):
    """Annotated members of all classes: name → annotation."""
    return {node.target.id: node.annotation for tree in trees for top in tree.body if isinstance(top, ast.ClassDef)
            for node in top.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}


def vllm(read, names):
    """add_argument("--flag", …) in arg_utils.py; the type is that of the configuration's member of the same name."""
    tree = read("vllm/engine/arg_utils.py")
    cli = read("vllm/entrypoints/common/cli_args.py")
    flags = {argument.value for call in ast.walk(tree) if isinstance(call, ast.Call)
             and getattr(call.func, "attr", "") == "add_argument"
             for argument in call.args if isinstance(argument, ast.Constant)}
    config = [read(name) for name in names if name.startswith("vllm/config/") and name.endswith(".py")]
    known = literals([*config, read("vllm/model_executor/layers/quantization/__init__.py")])
    members = fields([*config, tree]) | fields([cli])
    flags |= {"--" + name.replace("_", "-") for name in fields([cli])}
    member = lambda flag: members.get(flag[2:].replace("-", "_"), ast.Name("str"))
    return {flag: "JSON" if flag.endswith("-config") else values_of(member(flag), known) for flag in flags
            if flag.startswith("--")}


def sglang(read, names):
    """member: A[type, Arg(choices=…)] in arg_groups/fields: the flag is the member's name."""
    trees = [read(name) for name in names if name.startswith("sglang/srt/arg_groups/fields/") and name.endswith(".py")]
    known = literals([read("sglang/srt/arg_groups/choices.py")])
    found = {}
    for name, annotation in fields(trees).items():
        choices = next((keyword.value for node in ast.walk(annotation) if isinstance(node, ast.Call)
                        for keyword in node.keywords if keyword.arg == "choices"), None)
        if isinstance(choices, ast.List):
            values = " ".join(str(each.value) for each in choices.elts)
        elif isinstance(choices, ast.Name) and choices.id in known:
            values = " ".join(known[choices.id])
        else:
            values = values_of(annotation.slice.elts[0] if isinstance(annotation, ast.Subscript) and
                               isinstance(annotation.slice, ast.Tuple) else annotation, {})
        found["--" + name.replace("_", "-")] = values
    return found


READERS = {"vllm": (vllm, "vllm/engine/arg_utils.py"), "sglang": (sglang, "sglang/srt/arg_groups/fields")}


def main():
    rows = list(csv.DictReader(TABLE.open()))
    with tempfile.TemporaryDirectory() as folder:
        for wanted in sys.argv[1:] or READERS:
            engine = wanted.split("==")[0]
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                            "--dest", folder, wanted], check=True)
            (wheel,) = pathlib.Path(folder).glob(f"{engine}-*.whl")
            with zipfile.ZipFile(wheel) as package:
                reader, source = READERS[engine]
                found = reader(lambda name, package=package: ast.parse(package.read(name)), package.namelist())
            version = wheel.name.split("-")[1]
            for row in rows:
                if row["engine"] == engine:
                    row |= {"version": version, "values": found[row["flag"]],
                            "source": f"{engine} {version} on PyPI: {source}"}
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    TABLE.write_text(out.getvalue())


if __name__ == "__main__":
    main()
