"""claims_page.py: writes the lists of docs/claims.md from data/claims.csv and data/corrections.csv, for
check_text.py."""

import csv
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/claims.md"
DEVICES = {"cuda": "CUDA", "opencl": "OpenCL", "cpu": "CPU"}


def rows(name):
    with open(ROOT / "data" / name, newline="") as file:
        return list(csv.DictReader(file))


def items(lines):
    return "\n".join(textwrap.fill(line, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False,
                                   break_long_words=False) for line in lines)


def tested_by(claim):
    if claim["on"]:
        return f"`ridge lab {claim['id']}` on " + ", ".join(DEVICES[device] for device in claim["on"].split())
    return claim["elsewhere"]


def lists():
    """Name of each list → its text."""
    claims = [f"**{row['id']}**: {row['statement']}. Test: {tested_by(row)}. Source: {row['source']}"
              for row in rows("claims.csv")]
    wrong = [f"**{row['device']}, {row['quantity']}**: {row['claim']}. Right: {row['right']}. Source: {row['source']}"
             for row in rows("corrections.csv")]
    return {"claims": items(claims), "corrections": items(wrong)}


def unexplained():
    """Claims that `ridge explain` does not know with the words of the list."""
    explained = (ROOT / "data/explain/en/claims.md").read_text()
    return [row["id"] for row in rows("claims.csv") if f"\nname: {row['id']}: {row['statement']}\n" not in explained]


def filled(page):
    for name, text in lists().items():
        between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        page = between.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
