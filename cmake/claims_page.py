"""claims_page.py: writes the tables of docs/claims.md from data/claims.csv and data/corrections.csv. check_text.py holds them against each other."""

import csv
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/claims.md"
DEVICES = {"cuda": "CUDA", "opencl": "OpenCL", "cpu": "CPU"}


def rows(name):
    with open(ROOT / "data" / name, newline="") as file:
        return list(csv.DictReader(file))


def table(header, lines):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, ["---"] * len(header), *lines])


def tested_by(claim):
    if claim["on"]:
        return f"`ridge lab {claim['id']}` on " + ", ".join(DEVICES[device] for device in claim["on"].split())
    return claim["elsewhere"]


def tables():
    """Name of each table → its text."""
    claims = [[row["id"], row["statement"], tested_by(row), row["source"]] for row in rows("claims.csv")]
    wrong = [[row["device"], row["quantity"], row["claim"], row["right"], row["source"]] for row in rows("corrections.csv")]
    return {"claims": table(["claim", "statement", "tested by", "source"], claims),
            "corrections": table(["device", "quantity", "as the guides have it", "right", "source"], wrong)}


def unexplained():
    """Claims that `ridge explain` does not know with the words of the table."""
    explained = (ROOT / "data/explain/en/claims.md").read_text()
    return [row["id"] for row in rows("claims.csv") if f"\nname: {row['id']}: {row['statement']}\n" not in explained]


def filled(page):
    for name, text in tables().items():
        page = re.sub(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda match: f"{match[1]}{text}\n{match[2]}", page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
