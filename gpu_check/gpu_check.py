"""gpu_check.py: holds a machine with an NVIDIA GPU against what is expected of it, row by row.

Each row has what was checked, what was expected and by which source, what was found, a verdict (pass, fail, not
possible) and what to do. The rows become one JSON document (schema.json), written after each step, and
a page by `ridge show FILE --html`. It needs python's standard library and a built ridge, no network. It changes no
setting of the GPU, and keeps ridge's own files in a folder of its own.

Exit 0: no row failed; 1: one did, or the check was interrupted; 2: wrong usage; 3: there is no GPU.
"""

import argparse
import datetime
import functools
import json
import math
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import judge
import rows

VERDICTS = ("pass", "fail", "not possible")


class Interrupted(BaseException):
    pass


class Steps:
    """Runs programs, each within its own limit and that of the whole check; ends them with all that they started."""

    def __init__(self, folder):
        self.begin, self.end, self.folder, self.count = time.monotonic(), math.inf, folder, 0
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONUNBUFFERED": "1"}

    def run(self, command, limit):
        """(exit status, its stdout, its stderr).

        Errors: NotPossible once the check's time is up, Failed when it did not end in its own.
        """
        left = self.end - time.monotonic()
        if left < 1:
            raise rows.NotPossible("the time of the whole check was up", "time")
        self.count += 1
        paths = [self.folder / f"{self.count:03}.{kind}" for kind in ("out", "err")]
        # Files, not pipes: what a program left behind may keep a pipe open.
        with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                           env=self.environment, start_new_session=True)
            except OSError as error:
                raise rows.NotPossible(f"{command[0]}: {error.strerror}", "install") from error
            try:
                status = process.wait(min(limit, left))
            except subprocess.TimeoutExpired:
                reason = "no answer within its time limit" if limit <= left else "the time of the whole check was up"
                raise (rows.Failed if limit <= left else rows.NotPossible)(reason, "hang"
                                                                           if limit <= left else "time") from None
            finally:
                self.kill(process)
        return status, *(path.read_text(errors="replace") for path in paths)

    @staticmethod
    def kill(process):
        """Ends it with its children. One that a driver holds in the kernel cannot be ended: it is left behind."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


class Check:
    """Inputs of the rows' functions: programs, the GPU, earlier measurements."""

    def __init__(self, options, steps):
        self.options, self.steps = options, steps
        self.ridge_program, self.index, self.folder = options.ridge, options.index, steps.folder
        self.device = f"cuda:{options.index}"
        self.driver, self.measured = {}, {}
        self.rows, self.last_command = [], ""

    def wants(self, id):
        return not self.options.only or any(f"{id}.".startswith(f"{name}.") for name in self.options.only)

    def seconds(self, usual, quick=1):
        return quick if self.options.quick else usual

    def run(self, command, limit):
        self.last_command = shlex.join(map(str, command))
        return self.steps.run([str(part) for part in command], limit)

    def ridge(self, *arguments, limit, answers=(0,)):
        """The document that it prints with --json."""
        status, out, err = self.run([self.ridge_program, *arguments, "--json"], limit)
        if status in answers:
            return json.loads(out)
        said = err.strip().splitlines()
        reason = next((line for line in reversed(said) if line.startswith("ridge ")),
                      said[-1] if said else f"exit status {status}")
        raise judge.error_of(reason)

    def add(self, group, row):
        row = {"group": group, "value": None, "unit": "", "expected": None, "found": "", "reason": "", "do": "", **row}
        self.rows.append(row)
        print(f"{row['verdict']:<12}  {judge.text_of(row)}", file=sys.stderr)


def steps_of(check, group, steps):
    """A group that cannot list its steps is one step."""
    try:
        yield from steps(check)
    except Exception as error:
        yield group, group, functools.partial(outcome, group, error)


def outcome(id, error):
    if not isinstance(error, rows.NotPossible):  # a document, or a machine, that is not as expected
        error = rows.Failed(f"unexpected answer: {error!r}", "report")
    return [{"id": id, "verdict": error.verdict, "reason": str(error), "do": judge.REMEDIES[error.do]}]


def perform(check, groups):
    """Every group's steps in order; a step returns rows, or ends by an error, which is its row then."""
    for group, steps in groups.items():
        for id, what, work in steps_of(check, group, steps):
            if not check.wants(id):
                continue
            begin, check.last_command = time.monotonic(), ""
            try:
                made = work()
            except Exception as error:
                made = outcome(id, error)
            seconds = round(time.monotonic() - begin, 3)
            for row in made:
                check.add(group, {"what": what, "seconds": seconds, "command": check.last_command, **row})
            keep(check, interrupted=True)


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="./dev gpu-check",
                                     description=__doc__.partition("\n\n")[0].partition(": ")[2])
    parser.add_argument("-d", "--device", default="cuda:0", help="the GPU, as the driver counts (default cuda:0)")
    parser.add_argument("-o", "--output", default="gpu-check.json",
                        help="the document (default gpu-check.json); the page lies beside it, as .html")
    parser.add_argument("--only", default="",
                        help="these groups alone, or rows by their id (lab.matmul): " + ", ".join(rows.GROUPS))
    parser.add_argument("--earlier", help="a document of an earlier run: its figures are what is expected, within 5 %%")
    parser.add_argument("--minutes", type=float, default=9,
                        help="limit of the whole check (default 9; everything takes about 20)")
    parser.add_argument("--row-seconds", type=float, help="limit of each step instead of its own")
    parser.add_argument("--quick", action="store_true", help="measure as briefly as possible, to try the check itself")
    parser.add_argument("--ridge", default=os.environ.get("RIDGE", "build/release/ridge"), help="the program")
    options = parser.parse_args(arguments)
    prefix, _, index = options.device.partition(":")
    if prefix != "cuda" or not index.isdigit():
        parser.error(f"--device takes cuda:N, given {options.device}")
    options.index = int(index)
    options.only = [name for name in options.only.split(",") if name]
    if unknown := [name for name in options.only if name.partition(".")[0] not in rows.GROUPS]:
        parser.error(f"there is no group {unknown[0]}; there are {', '.join(rows.GROUPS)}")
    options.ridge = shutil.which(options.ridge)
    if options.ridge is None:
        parser.error("there is no program ridge: ./dev build makes it, --ridge names it")
    options.ridge = os.path.abspath(options.ridge)
    if not os.access(pathlib.Path(options.output).absolute().parent, os.W_OK):
        parser.error(f"--output {options.output}: its folder cannot be written")
    try:
        earlier = json.loads(pathlib.Path(options.earlier).read_text()) if options.earlier else None
        options.earlier = judge.figures_of(earlier) if earlier is not None else {}
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"--earlier {options.earlier}: {error}")
    return options


def about(check, arguments):
    """The beginning of every document of ridge."""
    written = check.ridge("explain", "roofline", limit=30)["about"]
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**written, "verb": "gpu check", "date": date, "command": shlex.join(["./dev", "gpu-check", *arguments])}


def stop(*_):
    for each in (signal.SIGTERM, signal.SIGINT):  # once is enough
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted


def look_for_gpu(check):
    """Keeps the driver's facts, or returns the sentence that says what was looked for."""
    status, out, err = check.run([sys.executable, rows.HERE / "driver.py", "facts", check.index], 60)
    if status:
        return err.strip() or f"the driver's process ended with {status}"
    check.driver = json.loads(out)
    return None


def main(arguments):
    options = parsed(arguments)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    with tempfile.TemporaryDirectory(prefix="gpu-check-", ignore_cleanup_errors=True) as folder:
        check = Check(options, Steps(pathlib.Path(folder)))
        interrupted = False
        try:
            if missing := look_for_gpu(check):
                sys.stderr.write(f"gpu-check: {missing}\n")
                return 3
            check.head = {"about": about(check, arguments), "device": check.driver["name"]}
            check.steps.end = time.monotonic() + 60 * options.minutes
            wanted = {name.partition(".")[0] for name in options.only} or set(rows.GROUPS)
            perform(check, {name: steps for name, steps in rows.GROUPS.items() if name in wanted})
        except rows.NotPossible as error:
            sys.stderr.write(f"gpu-check: {error}: {check.last_command}\n")
            return 3
        except Interrupted:
            if not check.rows:
                return 1
            interrupted = True
        return report(check, interrupted)


def keep(check, interrupted):
    """Writes the document, whole or not at all, and returns it."""
    counts = {verdict.replace(" ", "_"): sum(row["verdict"] == verdict for row in check.rows) for verdict in VERDICTS}
    document = check.head | {"counts": counts, "interrupted": interrupted,
                             "seconds": round(time.monotonic() - check.steps.begin, 3), "rows": check.rows}
    unfinished = pathlib.Path(f"{check.options.output}.new")
    unfinished.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    unfinished.replace(check.options.output)
    return document


def report(check, interrupted):
    """Document, page and the last line."""
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    document = keep(check, interrupted)
    counts, output = document["counts"], check.options.output
    page = pathlib.Path(output).with_suffix(".html")
    try:
        drawn = subprocess.run([check.ridge_program, "show", output, "--html", page], capture_output=True, text=True,
                               timeout=60)
        kept = f"{output}, {page}" if drawn.returncode == 0 else f"{output} (no page: {drawn.stderr.strip()})"
    except subprocess.TimeoutExpired:
        kept = f"{output} (no page within 60 s)"
    print(f"{document['device']}: {counts['pass']} pass, {counts['fail']} fail, {counts['not_possible']} not possible"
          f"{'; interrupted' if interrupted else ''}; {kept}")
    return 1 if counts["fail"] or interrupted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
