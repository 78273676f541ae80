"""tidy.py BUILD: clang-tidy, and with it clang's thread safety analysis, over the product's sources as BUILD compiles
them.

Sources are taken a unity unit at a time (cmake/RidgeFolder.cmake): the headers, which cost most of the time, are read
once for a dozen of them. A unit that passed is remembered in BUILD/tidy by a hash of all that its result depends on, so
only what has changed since is looked at again.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def units(build):
    """[(file, command)] of the libraries and the program; neither tests nor what is generated."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        target = entry["output"].split("CMakeFiles/")[1].split(".dir/")[0]
        if re.fullmatch(r"ridge(_\w+)?",
                        target) and "/embedded/" not in entry["file"] and "/proto/" not in entry["file"]:
            yield pathlib.Path(entry["file"]), entry["command"]


@functools.cache
def included(path):
    """The files of ours that `path` includes, by way of others too, and itself."""
    found = {path}
    for name in INCLUDE.findall(path.read_text()):
        for place in (ROOT / "src" / name, ROOT / "tests/unit" / name, ROOT / name, path.parent / name):
            if place.is_file():
                found |= included(place)
                break
    return frozenset(found)


def key(file, command, tool):
    """Digest of everything that decides what is found in the unit; the versions pin what is not ours."""
    content = hashlib.sha256(f"{tool} {command.replace(str(ROOT), '')}".encode())
    for path in [ROOT / ".clang-tidy", ROOT / "versions", *sorted(included(file))]:
        content.update(path.read_bytes())
    return content.hexdigest()


def check(build, clang_tidy, file, stamp):
    """clang-tidy's complaints; empty where all is well, which is noted."""
    # GCC's own parameters are nothing to clang.
    words = [*clang_tidy, "-p", build, "--quiet", "--extra-arg=-Wno-unused-command-line-argument", file]
    ran = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if ran.returncode == 0:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        for old in stamp.parent.glob(f"{stamp.name.rsplit('.', 1)[0]}.*"):
            old.unlink()
        stamp.touch()
        return ""
    return (ran.stdout or ran.stderr).replace(f"{ROOT}/", "")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    clang_tidy = [sys.executable, pathlib.Path(sys.executable).with_name("clang-tidy")]
    tool = subprocess.run([*clang_tidy, "--version"], capture_output=True, text=True, check=True).stdout
    work = []
    for file, command in units(build):
        name = re.sub(r"\W+", "-", str(file.relative_to(ROOT)))
        stamp = build / "tidy" / f"{name}.{key(file, command, tool)}"
        if not stamp.exists():
            work.append((file, stamp))
    if work:
        print(f"clang-tidy: {len(work)} units to look at", file=sys.stderr)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(lambda item: check(build, clang_tidy, *item), work) if text]
    # The same line of a header is found in many units.
    blocks = {}
    for text in found:
        for block in re.split(r"\n(?=\S+:\d+:\d+: (?:warning|error))", text):
            blocks.setdefault(block.strip(), None)
    if blocks:
        sys.exit("\n".join(blocks))


if __name__ == "__main__":
    main()
