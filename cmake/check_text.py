"""check_text.py: refuses tracked text that ties the project to one machine or to one package registry, and broken
habits.

Registries are reached through their ordinary clients, whose settings name the host; a path in a user's home works
nowhere else.
"""

import io
import pathlib
import re
import subprocess
import sys
import tokenize
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
# Everything else, where no formatter keeps to it: prose and comments. Not what programs write, nor one value a line.
WIDE_COLUMNS = 120
WIDE = re.compile(r"docs/contracts\.md|(src/report|benchmarks/results|data|tests/(cases|corpus|machines))/.*")
HASH_COMMENTS = re.compile(r".*\.(cmake|sh|supp|toml|yaml|yml)|(.*/)?(CMakeLists\.txt|dev|versions|run)")
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


def python_lines(text):
    """(number, line) of lines that are too wide by more than a text."""
    lines = text.splitlines()
    in_texts = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        documents = token.type == tokenize.STRING and token.line.lstrip().startswith(('"""', 'r"""'))
        if token.type == tokenize.STRING and not documents and token.end[1] > WIDE_COLUMNS - 2:
            in_texts.update(range(token.start[0], token.end[0] + 1))
        elif token.type == tokenize.STRING and not documents:
            in_texts.update(range(token.start[0], token.end[0]))
    return [(number, line) for number, line in enumerate(lines, 1) if number not in in_texts]


def wide_complaints(name, text):
    """Complaints about prose, comments and Python's code beyond WIDE_COLUMNS; clang-format minds C++'s code."""
    if WIDE.fullmatch(name):
        return
    lines = list(enumerate(text.splitlines(), 1))
    if re.search(r"\.(cc|h|cu)$", name):
        lines = [(number, line) for number, line in lines
                 if re.match(r"\s*// ", line) or re.match(r"""[^"'/]*// """, line)]
    elif HASH_COMMENTS.fullmatch(name):
        lines = [(number, line) for number, line in lines if re.match(r"\s*# ", line)]
    elif name.endswith(".py"):
        lines = python_lines(text)
    elif name.endswith((".md", "llms.txt")):
        lines = [(number, line) for number, line in lines if not line.startswith("|")]  # a row of a table is one line
    else:
        return
    for number, line in lines:
        if columns(line) > WIDE_COLUMNS and " " in line.strip().removeprefix("- "):
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
