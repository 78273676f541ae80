"""Where the loader looks for a program's libraries."""

import re
import subprocess


def run_path(file):
    """The elements of RPATH and RUNPATH in `file`, in order."""
    dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
    return [element for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic) for element in path.split(":")]


def check_run_path(file):
    """Each element is named from the file itself. An empty or relative one is looked up in the folder where the program
    is started, and a folder of the build may be anyone's elsewhere."""
    bad = [element for element in run_path(file) if not re.match(r"\$ORIGIN(/|$)", element)]
    assert not bad, f"run path of {file}: {bad}"
