"""Complaints about docs/guides: what its `sh` blocks have is run by tests/paths, and both languages say the same. For check_text.py."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDES = ROOT / "docs/guides"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(language, lines without comments) of each block of code."""
    return [(language, [re.sub(r"\s+#.*", "", line) for line in lines.splitlines()]) for language, lines in BLOCK.findall(text)]


def tested_lines():
    return [line for script in (ROOT / "tests/paths").glob("*.sh") for line in script.read_text().splitlines()]


def complaints():
    tested = tested_lines()
    examples = {file.read_text() for file in (ROOT / "docs/examples").glob("*.py")}
    for guide in sorted(GUIDES.glob("*.md")):
        name, text = guide.relative_to(ROOT), guide.read_text()
        for language, lines in blocks(text):
            if language == "sh":
                yield from (f"{name}: no script of tests/paths runs: {line}" for line in lines if not any(line in each for each in tested))
        for language, block in BLOCK.findall(text):
            if language == "python" and "urllib" in block and block not in examples:
                yield f"{name}: a program differs from docs/examples"
        chinese = GUIDES / "zh" / guide.name
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
