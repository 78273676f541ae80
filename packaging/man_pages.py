"""man_pages.py VERSION FOLDER: writes docs/cli/*.md, which are also the answers to --help, as manual pages: ridge.1,
ridge-bench.1, …

What the texts use of Markdown is what src/cli/help.h names.
"""

import gzip
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "docs/cli"


def escaped(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def plain(text):
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text.replace("`", ""))


def summary(text):
    """The first sentence, without the command that it begins with."""
    sentence = re.split(r"(?<=[.?])\s", text.split("\n\n")[1], maxsplit=1)[0]
    return re.sub(r"^`[^`]*`(?:, or `[^`]*`,)?\s*", "", " ".join(sentence.split()))


def body(text):
    code = False
    between = True  # the next line begins a paragraph
    for line in text.splitlines():
        if line == "```":
            yield ".fi" if code else ".PP\n.nf"
            code = not code
        elif code:
            yield escaped(line)
        elif not line or line.startswith("# "):
            between = True
        elif line.startswith("## "):
            yield f".SH {escaped(plain(line[3:]).upper())}"
        elif item := re.match(r"- (?:`([^`]*)`: )?(.*)", line):
            yield f".TP\n{escaped(item[1])}" if item[1] else ".IP \\(bu 2"
            yield escaped(plain(item[2]))
            between = False
        else:
            if between:
                yield ".PP"
            yield escaped(plain(line.strip()))
            between = False


def page(name, text, version, also):
    head = [f'.TH {name.upper()} 1 "" "ridge {version}" "ridge"', ".SH NAME",
            f"{escaped(name)} \\- {escaped(plain(summary(text)))}", ".SH DESCRIPTION"]
    return "\n".join([*head, *body(text), ".SH SEE ALSO", ", ".join(escaped(f"{other}(1)") for other in also), ""])


def main(version, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = {"ridge" if file.stem == "ridge" else f"ridge-{file.stem}": file for file in sorted(SOURCES.glob("*.md"))}
    for name, file in names.items():
        also = [other for other in names if other != "ridge"] if name == "ridge" else ["ridge"]
        with gzip.GzipFile(folder / f"{name}.1.gz", "wb", mtime=0) as out:
            out.write(page(name, file.read_text(), version, also).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
