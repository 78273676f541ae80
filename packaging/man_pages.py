"""man_pages.py VERSION FOLDER: writes docs/cli/*.md, which are also the answers to --help, as manual pages: ridge.1, ridge-bench.1, …"""

import gzip
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "docs/cli"


def escaped(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def summary(name, text):
    """The first sentence, without the command that it begins with."""
    sentence = re.split(r"(?<=[.?]) |\n\n", text.replace(name.replace("-", " "), "", 1), maxsplit=1)[0]
    return re.sub(r"^(\s*([A-Z\[-]\S*))*\s*", "", " ".join(sentence.split()))


def body(text):
    """Indented lines and tables stay as they are; a short line above indented ones is a heading; the rest is filled."""
    for block in text.strip("\n").split("\n\n"):
        lines = block.splitlines()
        verbatim = [line.startswith((" ", "|")) for line in lines]
        if len(lines) > 1 and not verbatim[0] and verbatim[1] and len(lines[0]) < 40 and lines[0][-1].isalnum():
            yield f".SS {escaped(lines.pop(0))}"
            verbatim.pop(0)
        else:
            yield ".PP"
        for n, line in enumerate(lines):
            if verbatim[n] and not (n and verbatim[n - 1]):
                yield ".nf"
            yield escaped(line.removeprefix("  "))
            if verbatim[n] and not (n + 1 < len(lines) and verbatim[n + 1]):
                yield ".fi"


def page(name, text, version, also):
    head = [f'.TH {name.upper()} 1 "" "ridge {version}" "ridge"', ".SH NAME",
            f"{escaped(name)} \\- {escaped(summary(name, text))}", ".SH DESCRIPTION"]
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
