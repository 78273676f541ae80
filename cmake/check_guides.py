"""Complaints about guides (docs/guides, README): tests/paths runs the lines of their `sh` blocks, and both languages
say the same.

For check_text.py.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDES = ROOT / "docs/guides"
# In English only, and short: they are read whole at the beginning of each task.
ASSISTANTS = [ROOT / "AGENTS.md", ROOT / "llms.txt"]
ASSISTANT_LINES = 60
# Each guide with its Chinese sibling.
PAIRS = [(ROOT / "README.md", ROOT / "README.zh-CN.md")]
PAIRS += [(guide, GUIDES / "zh" / guide.name) for guide in sorted(GUIDES.glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(language, lines without comments) of each block of code."""
    return [(language, [re.sub(r"\s+#.*", "", line) for line in lines.splitlines()])
            for language, lines in BLOCK.findall(text)]


def tested_lines():
    return [line for script in (ROOT / "tests/paths").glob("*.sh") for line in script.read_text().splitlines()]


def is_of_dev(line):
    """True if ./dev has the command and the options of the line."""
    words = line.split()
    if words[:1] != ["./dev"] or len(words) < 2:
        return False
    usage = (ROOT / "dev").read_text().partition("<<'HELP'\n")[2].partition("\nHELP\n")[0]
    if not re.search(rf"^  {re.escape(words[1])}\b", usage, re.MULTILINE):
        return False
    return all(word in usage for word in words[2:] if word.startswith("--"))


def untested(name, text, tested):
    for line in (line for language, lines in blocks(text) if language == "sh" for line in lines):
        if not any(line in each for each in tested) and not is_of_dev(line):
            yield f"{name}: no script of tests/paths runs: {line}"


def complaints():
    tested = tested_lines()
    examples = {file.read_text() for file in (ROOT / "docs/examples").glob("*.py")}
    for guide in ASSISTANTS:
        yield from untested(guide.name, guide.read_text(), tested)
    if sum(len(guide.read_text().splitlines()) for guide in ASSISTANTS) > ASSISTANT_LINES:
        yield f"AGENTS.md and llms.txt: have more than {ASSISTANT_LINES} lines together"
    for guide, chinese in PAIRS:
        name, text = guide.relative_to(ROOT), guide.read_text()
        yield from untested(name, text, tested)
        for language, block in BLOCK.findall(text):
            if language == "python" and "urllib" in block and block not in examples:
                yield f"{name}: a program differs from docs/examples"
        if not chinese.is_file():
            yield f"{name}: is not there in Chinese"
            continue
        other = chinese.read_text()
        if blocks(text) != blocks(other):
            yield f"{chinese.relative_to(ROOT)}: its blocks of code differ from those in English"
        if len(re.findall("^##? ", text, re.MULTILINE)) != len(re.findall("^##? ", other, re.MULTILINE)):
            yield f"{chinese.relative_to(ROOT)}: has another number of headings than in English"
        if len(re.findall("^- ", text, re.MULTILINE)) != len(re.findall("^- ", other, re.MULTILINE)):
            yield f"{chinese.relative_to(ROOT)}: has another number of list items than in English"
