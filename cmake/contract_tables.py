"""The lists of docs/contracts.md that the program's schemas say: between "<!-- members of KIND -->" and "<!-- end -->".
"<!-- members of KIND without parts of A B -->": these members' parts are described elsewhere.

usage: contract_tables.py RIDGE    writes them anew; a test compares them
"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/contracts.md"
PART = re.compile(r"(<!-- members of (\S+)(?: without parts of ([^>]+))? -->\n).*?(<!-- end -->)", re.DOTALL)


def schema_of(ridge, kind):
    done = subprocess.run([ridge, "show", "--schema", kind], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def parts_of(field):
    """The members of a value, or of the elements of a list or map."""
    inner = field.get("items") or field.get("additionalProperties") or field
    return inner.get("properties", {})


def is_described(field):
    return any("description" in part or is_described(part) for part in parts_of(field).values())


def name_of(name, field):
    """With its parts, unless they have rows of their own: "inputs[name, shape]"."""
    inside = "" if is_described(field) else ", ".join(name_of(*part) for part in parts_of(field).items())
    if "items" in field:
        return f"{name}[{inside}]"
    return f"{name}{{{inside}}}" if inside else name


def rows_of(field, prefix, lists):
    """Members without a word of their own stand together; lists of described values go to `lists`."""
    rows = []
    for name, part in parts_of(field).items():
        shown, meaning = prefix + name_of(name, part), part.get("description", "")
        if meaning or is_described(part) or not rows or rows[-1][1]:
            rows.append([shown, meaning])
        else:
            rows[-1][0] += ", " + shown
        if "items" in part and is_described(part):
            lists.append((name, part))
        elif is_described(part):
            rows += rows_of(part, f"{prefix}{name}.", lists)
    return rows


def shown(rows):
    wide = (f"- `{name}`" + (f": {meaning}" if meaning else "") for name, meaning in rows)
    narrow = textwrap.TextWrapper(120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "".join(narrow.fill(row) + "\n" for row in wide)


def close(schema, names):
    """Takes the parts of members of these names out of a schema."""
    for name, field in parts_of(schema).items():
        if name in names:
            for part in ("properties", "items"):
                field.pop(part, None)
        close(field, names)


def members(schema, closed=()):
    lists = []
    schema["properties"].pop("about", None)
    close(schema, closed)
    text = shown(rows_of(schema, "", lists))
    for name, part in lists:
        text += f"\n**{name}[]**\n\n" + shown(rows_of(part, "", []))
    return text


def page_of(ridge, page):
    return PART.sub(lambda part: part[1] + members(schema_of(ridge, part[2]), (part[3] or "").split()) + part[4],
                    page)


if __name__ == "__main__":
    PAGE.write_text(page_of(sys.argv[1], PAGE.read_text()))
