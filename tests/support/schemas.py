"""The JSON Schemas of documents, and documents held against them."""

import copy
import functools
import json
import os
import pathlib
import subprocess

from jsonschema import Draft202012Validator

SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
GPU_CHECK = SOURCE / "gpu_check" / "schema.json"


@functools.cache
def schema_of(name):
    """As the program says; of the document that gpu_check writes as its file says."""
    if name == "gpu-check":
        schema = json.loads(GPU_CHECK.read_text())
        schema["properties"]["about"] = schema_of("about")
        return schema
    done = subprocess.run([os.environ["RIDGE"], "show", "--schema", name], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def strict(schema):
    """The same, which allows no other members than it lists."""
    schema = copy.deepcopy(schema)
    parts = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if "properties" in part:
                part.setdefault("additionalProperties", False)
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return schema


def errors_of(name, document, strictly=True):
    """Faults of a document; strictly: also members that its schema does not name."""
    validator = Draft202012Validator(strict(schema_of(name)) if strictly else schema_of(name))
    return [f"{name}: {error.json_path}: {error.message[:300]}" for error in validator.iter_errors(document)]
