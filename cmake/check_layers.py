"""check_layers.py: refuses includes that the architecture does not have.

1. src/<folder>/ includes only the folders that docs/architecture.md's table gives it; every folder is in the table.
2. A header keeps third-party headers out, but for the few in OPEN that interfaces are written in.
3. Each folder's library links what the table allows and nothing else of ours (CMakeLists.txt).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Vocabulary of interfaces: text formatting and JSON's forward declarations.
OPEN = {"fmt/format.h", "nlohmann/json_fwd.hpp"}
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


def check_file(path, allowed, complain):
    folder = path.relative_to(ROOT / "src").parts[0]
    for kind, name in INCLUDE.findall(path.read_text()):
        target = name.split("/")[0]
        ours = (ROOT / "src" / target).is_dir() and "/" in name
        if kind == '"' and ours:
            may = allowed.get(folder)
            if target != folder and may is not None and target not in may:
                complain(path, f'includes "{name}", but {folder} may include only: {", ".join(sorted(may)) or "nothing"}')
        elif path.suffix == ".h" and name not in OPEN and ("/" in name or name.endswith((".h", ".hpp"))):
            if not name.startswith("sys/"):
                complain(path, f"shows the third-party header {name} to whoever includes it; keep it in the .cc")


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
