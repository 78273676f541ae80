"""check_layers.py: refuses includes that the architecture does not have.

1. src/<folder>/ includes only the folders that docs/architecture.md's table gives it; every folder is in the table.
2. A third-party header stays inside the folder that wraps it: what another folder includes does not bring it in, but for the
   few in OPEN that interfaces are written in.
3. Each folder's library links what the table allows and nothing else of ours (CMakeLists.txt).
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Vocabulary of interfaces: text formatting and JSON's forward declarations; of what tests share: the system's and GoogleTest.
OPEN = {"fmt/format.h", "nlohmann/json_fwd.hpp", "unistd.h", "gtest/gtest.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def table():
    """{folder: set of folders, or None for any} from the table in docs/architecture.md."""
    rows = {}
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 2 or not re.fullmatch(r"[a-z]+", cells[0]):
            continue
        if cells[1] == "any":
            rows[cells[0]] = None
        elif cells[1] == "—" or re.fullmatch(r"[a-z]+(, [a-z]+)*", cells[1]):
            rows[cells[0]] = set() if cells[1] == "—" else set(cells[1].split(", "))
    return rows


def ours(kind, name):
    """Whether an include names a file of this project."""
    return kind == '"' and "/" in name and (ROOT / "src" / name.split("/")[0]).is_dir()


def third_party(kind, name):
    """Whether an include names neither ours nor the standard library's (<vector>) nor the system's (<sys/...>)."""
    return not ours(kind, name) and name not in OPEN and not name.startswith("sys/") and ("/" in name or "." in name)


@functools.cache
def shown_by(name):
    """The third-party headers that including our header `name` brings in."""
    path = ROOT / "src" / name
    shown = set()
    for kind, inner in INCLUDE.findall(path.read_text()) if path.is_file() else ():
        if ours(kind, inner):
            shown |= shown_by(inner)
        elif third_party(kind, inner):
            shown.add(inner)
    return shown


def check_file(path, allowed, complain):
    folder = path.relative_to(ROOT / "src").parts[0]
    may = allowed[folder]
    for kind, name in INCLUDE.findall(path.read_text()):
        target = name.split("/")[0]
        if not ours(kind, name) or target == folder:
            continue
        if may is not None and target not in may:
            complain(path, f'includes "{name}", but {folder} may include only: {", ".join(sorted(may)) or "nothing"}')
        elif shown_by(name):
            complain(path, f'includes "{name}", which shows {", ".join(sorted(shown_by(name)))}; keep that inside {target}')


def check_links(allowed, complain):
    path = ROOT / "CMakeLists.txt"
    for folder, libraries in re.findall(r"^ridge_folder\((\w+)\s+LINK\s+([^)]*)\)", path.read_text(), re.MULTILINE):
        may = allowed.get(folder)
        links = {name.removeprefix("ridge_") for name in libraries.split()} & set(allowed)
        if may is not None and links != may:
            complain(path, f"{folder} links {', '.join(sorted(links))}; the table says {', '.join(sorted(may))}")


def main():
    complaints = []

    def complain(path, text):
        complaints.append(f"{path.relative_to(ROOT)}: {text}")

    allowed = table()
    for folder in sorted(path for path in (ROOT / "src").iterdir() if path.is_dir()):
        if folder.name not in allowed:
            complain(folder, "is not in the table of docs/architecture.md")
            continue
        for path in sorted([*folder.rglob("*.h"), *folder.rglob("*.cc")]):
            check_file(path, allowed, complain)
    check_links(allowed, complain)
    if complaints:
        sys.exit("layers:\n  " + "\n  ".join(complaints))


if __name__ == "__main__":
    main()
