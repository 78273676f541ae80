"""The JSON Schemas of docs/schemas, and documents held against them."""

import copy
import json
import os
import pathlib

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in (SOURCE / "docs" / "schemas").glob("*.json")}


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


STRICT = {name: strict(schema) for name, schema in SCHEMAS.items()}


def errors_of(name, document, strictly=True):
    """Faults of a document; strictly: also members that its schema does not name."""
    schemas = STRICT if strictly else SCHEMAS
    registry = Registry().with_resources((f"{stem}.json", Resource.from_contents(schema)) for stem,
                                         schema in schemas.items())
    validator = Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)
    return [f"{name}: {error.json_path}: {error.message[:300]}" for error in validator.iter_errors(document)]
