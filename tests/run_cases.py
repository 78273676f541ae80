"""run_cases.py FILE.case...: runs command lines and compares what they print with what the file says.

A case file is read from top to bottom:

    # A comment. Also marks: "# ctest: serial", "# ctest: timeout 600", "# cache: empty" (see below).
    file config.pbtxt <<EOF
    name: "x"
    EOF
    $ ridge make identity -o x.onnx
    $ ridge plan x.onnx --json | head -2
    {
      "model": "x",
    $ ridge plan nothing.onnx
    [stderr]
    ridge plan: ...nothing.onnx...
    [exit 3]

- `file NAME <<WORD` writes the lines up to WORD to NAME. - `$ COMMAND` runs in bash, with ridge on the PATH, in a
temporary folder that starts empty and lives as long as the case.
  A line that ends in a backslash goes on in the next one.
- The lines after it are the whole expected stdout. `[stderr]` begins the expected stderr; without it stderr may be
anything.
  `[exit N]` is the expected exit status; without it 0.
- In expected text, a line `...` stands for any number of lines, `...` inside a line for any text, `{{regex}}` for what
it
  matches. A line that begins with a backslash is taken without it (for lines like `$ ` or `[exit 1]` in real output).
- The home and cache folders are inside the temporary folder, and the limits of this machine are known, as measured once
for
  all tests. "# cache: empty": they are not, for cases of the measuring. "# cache: shared": the caches are kept beside
  the build.

Environment: RIDGE, the program under test.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import known_limits  # noqa: E402

COMMAND_TIMEOUT_S = 280


@dataclass
class Command:
    line: int
    text: str
    stdout: list = field(default_factory=list)
    stderr: list | None = None
    exit: int = 0


@dataclass
class File:
    name: str
    text: str


def parse(path):
    """[Command | File, ...] and the file's marks, as one text."""
    steps, marks, expected = [], [], None
    lines = iter(enumerate(path.read_text().splitlines(), 1))
    for number, line in lines:
        if line.startswith("#") and expected is None:
            marks.append(line)
        elif match := re.match(r"file (\S+) <<(\S+)$", line):
            body = []
            for _, text in lines:
                if text == match[2]:
                    break
                body.append(text + "\n")
            else:
                sys.exit(f"{path}:{number}: no line {match[2]} ends this file")
            steps.append(File(match[1], "".join(body)))
            expected = None
        elif line.startswith("$ "):
            text = line[2:]
            while text.endswith("\\"):
                text += "\n" + next(lines)[1]
            steps.append(Command(number, text))
            expected = steps[-1].stdout
        elif line == "[stderr]" and expected is not None:
            expected = steps[-1].stderr = []
        elif (match := re.match(r"\[exit (\d+)\]$", line)) and expected is not None:
            steps[-1].exit = int(match[1])
        elif expected is not None:
            expected.append(line)
        elif line.strip():
            sys.exit(f"{path}:{number}: expected a comment, a file or a command: {line}")
    return steps, "\n".join(marks)


def pattern_of(line):
    """The regular expression of one expected line, or None for `...`."""
    if line.strip() == "...":
        return None
    if line.startswith("\\"):
        return re.compile(re.escape(line[1:]))
    parts = re.split(r"(\{\{.*?\}\}|\.\.\.)", line)
    return re.compile("".join(
        ".*" if part == "..." else f"(?:{part[2:-2]})" if part.startswith("{{")
        and part.endswith("}}") else re.escape(part)
        for part in parts))


def trimmed(lines):
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def matches(expected, actual):
    """True if the lines `actual` match the patterns of `expected`."""
    reached = {0}  # how many lines of `actual` the patterns so far may have used
    for line in expected:
        pattern = pattern_of(line)
        if pattern is None:
            reached = set(range(min(reached), len(actual) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(actual) and pattern.fullmatch(actual[at])}
    return len(actual) in reached


def difference(what, expected, actual):
    """A unified diff in which actual lines that fit a pattern read like the pattern."""
    patterns = [(line, pattern_of(line)) for line in expected]

    def as_expected(text):
        return next((line for line, pattern in patterns if pattern and pattern.fullmatch(text)), text)

    shown = [as_expected(text) for text in actual]
    return "\n".join(difflib.unified_diff(expected, shown, f"expected {what}", f"actual {what}", n=5, lineterm=""))


# How busy the machine was when its limits were measured is no part of a case.
DOUBTS = re.compile(r".* W limits of this machine are uncertain: .*|note: the limit of .* is uncertain, .*"
                    "|note: the machine was busy when its limits were measured: .*")


def lines_of(output):
    return trimmed([line for line in output.decode(errors="replace").splitlines() if not DOUBTS.fullmatch(line)])


def run_command(command, folder, environment):
    """The complaints about one command."""
    try:
        done = subprocess.run(["bash", "-c", command.text], cwd=folder, env=environment, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=COMMAND_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return [f"still running after {COMMAND_TIMEOUT_S} s"]
    stdout, stderr = lines_of(done.stdout), lines_of(done.stderr)
    complaints = []
    expected = trimmed(command.stdout)
    if not matches(expected, stdout):
        complaints.append(difference("stdout", expected, stdout))
    if command.stderr is not None and not matches(trimmed(command.stderr), stderr):
        complaints.append(difference("stderr", trimmed(command.stderr), stderr))
    if done.returncode != command.exit:
        complaints.append(f"expected exit {command.exit}, actual exit {done.returncode}")
    if complaints and command.stderr is None and stderr:
        complaints.append("stderr was:\n" + "\n".join(stderr[-30:]))
    return complaints


def run_case(path, ridge):
    """Runs one case file to its end or its first failing command; returns whether it passed."""
    steps, marks = parse(path)
    with tempfile.TemporaryDirectory(prefix="ridge-case-") as folder:
        home = pathlib.Path(folder, ".home")
        home.mkdir()
        environment = dict(os.environ, PATH=f"{ridge.parent}:{os.environ['PATH']}", HOME=str(home), LC_ALL="C.UTF-8",
                           XDG_CACHE_HOME=str(home / "cache"), XDG_CONFIG_HOME=str(home / "config"),
                           XDG_DATA_HOME=str(home / "data"), TMPDIR=folder)
        environment.pop("COLUMNS", None)  # output that is no terminal has no width
        if "# cache: shared" in marks:
            environment["XDG_CACHE_HOME"] = str(known_limits.SHARED)
        elif "# cache: empty" not in marks:
            known_limits.fill(environment["XDG_CACHE_HOME"])
        for step in steps:
            if isinstance(step, File):
                target = pathlib.Path(folder, step.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(step.text)
                continue
            complaints = run_command(step, folder, environment)
            if complaints:
                print(f"{path}:{step.line}: $ {step.text}", *complaints, sep="\n")
                return False
    return True


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    ridge = pathlib.Path(os.environ["RIDGE"]).resolve()
    failed = [path for path in map(pathlib.Path, sys.argv[1:]) if not run_case(path, ridge)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
