"""The JSON Schemas of documents, of the program and of docs/schemas, and documents held against them."""

import copy
import functools
import json
import os
import pathlib
import subprocess

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
FILES = {path.stem: json.loads(path.read_text()) for path in (SOURCE / "docs" / "schemas").glob("*.json")}


@functools.cache
def schema_of(name):
    """Of a file, or as the program says."""
    if name in FILES:
        return FILES[name]
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
    schemas = {name: schema_of(name), "about": schema_of("about")} | FILES
    registry = Registry().with_resources(
        (f"{stem}.json", Resource.from_contents(strict(schema) if strictly else schema))
        for stem, schema in schemas.items())
    validator = Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)
    return [f"{name}: {error.json_path}: {error.message[:300]}" for error in validator.iter_errors(document)]
