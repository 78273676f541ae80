"""check_text.py: refuses tracked text that ties the project to one machine or to one package registry, and broken
habits.

Registries are reached through their ordinary clients, whose settings name the host; a path in a user's home works
nowhere else.
"""

import pathlib
import re
import subprocess
import sys
import unicodedata

import check_guides
import claims_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
def this_machine():
    """Paths in the home folder of whoever runs this, or in the folder below / that holds the checkout."""
    folders = {str(pathlib.Path.home())}
    if ROOT.parts[1] not in ("home", "usr", "tmp", "opt", "srv", "var", "mnt", "src", "Users"):
        folders.add("/" + ROOT.parts[1])
    return re.compile(r"(?<![\w.$}/])(" + "|".join(map(re.escape, sorted(folders - {"/"}))) + r")/\w")


RULES = (
    (re.compile(r"\b(deb|ftp|snapshot|security)\.([a-z]+\.)?debian\.(org|net)"), "names a package mirror"),
    (re.compile(r"\b(test\.)?(pypi|pythonhosted|files\.pythonhosted)\.org|\bregistry\.npmjs\.\w+"),
     "names a package registry"),
    (this_machine(), "has an absolute path of this machine"),
    (re.compile(r"^(<{7} |>{7} )", re.MULTILINE), "has a merge conflict"),
)
# A link to a file of the tree. Code has spaces between the brackets.
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)\s]*)?\)")
LARGE_BYTES = 1 << 20
# Read in terminals too: the answers to --help, and the guides.
NARROW = re.compile(r"docs/(cli|guides)/.*\.md")
MOST_COLUMNS = 100
# Everything else that people write, but for data and for what programs wrote.
WIDE_COLUMNS = 120
WIDE = re.compile(r".*\.(json|csv)|"
                  r"(benchmarks/results|data|tests/(cases|corpus|machines))/.*")
# What docs/images/make.py draws from pages of the program.
PICTURE = re.compile(r"docs/images/[a-z-]+\.png")
PICTURE_BYTES = 100_000


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def narrow_complaints(name, text):
    """Complaints about what the renderer of --help (src/cli/help.h) and a terminal cannot show."""
    lines = text.splitlines()
    code = False
    if not lines[0].startswith("# "):
        yield f"{name}:1: has no title"
    for number, line in enumerate(lines, 1):
        if columns(line) > MOST_COLUMNS:
            yield f"{name}:{number}: has {columns(line)} columns, more than {MOST_COLUMNS}"
        code ^= line.startswith("```")
        if name.startswith("docs/cli/") and not code and re.search(r"\S {2,}\S", line):
            yield f"{name}:{number}: has columns outside of code; an option is an item: - `--name VALUE`: text"


def picture_complaints(name, content):
    if len(content) > PICTURE_BYTES:
        yield f"{name}: has {len(content)} bytes, more than {PICTURE_BYTES}"


def wide_complaints(name, text):
    """Complaints about lines beyond WIDE_COLUMNS that can be broken: more than one word, and no row of a table."""
    if WIDE.fullmatch(name):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if columns(line) <= WIDE_COLUMNS or name.endswith(".md") and line.lstrip().startswith("|"):
            continue
        if " " in line.strip().removeprefix("- "):
            yield f"{name}:{number}: has {columns(line)} columns, more than {WIDE_COLUMNS}"


def main():
    complaints = []
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if len(content) > LARGE_BYTES:
            complaints.append(f"{name}: is {len(content) >> 10} KiB; is it a source?")
        if b"\0" in content:
            # The seeds of fuzz targets are what a parser sees on the wire or on disk.
            if PICTURE.fullmatch(name):
                complaints.extend(picture_complaints(name, content))
            elif not name.startswith("tests/corpus/"):
                complaints.append(f"{name}: is not text")
            continue
        text = content.decode(errors="replace")
        for pattern, what in RULES:
            for match in pattern.finditer(text):
                complaints.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group()}")
        complaints.extend((narrow_complaints if NARROW.fullmatch(name) else wide_complaints)(name, text))
        for match in LINK.finditer(text if path.suffix == ".md" or name == "llms.txt" else ""):
            if not (path.parent / match[1]).exists():
                complaints.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: links to {match[1]}, "
                                  "which does not exist")
    if claims_page.filled(page := claims_page.PAGE.read_text()) != page:
        complaints.append("docs/claims.md: differs from data/claims.csv or data/corrections.csv; "
                          "cmake/claims_page.py writes it")
    complaints.extend(f"data/explain/en/claims.md: has no entry of {claim} with its statement"
                      for claim in claims_page.unexplained())
    complaints.extend(check_guides.complaints())
    if complaints:
        sys.exit("text:\n  " + "\n  ".join(complaints))


if __name__ == "__main__":
    main()
