"""notices.py BUILD DEPS OUTPUT [LIBRARY...]: writes the copyright notices and licences of what a build of ridge holds
of others.

What that is, the build itself says: the headers that its objects were compiled from (ninja's record), the static ONNX
library, the embedded Chart.js, and each LIBRARY that goes into the package or, a static one, into the program. A Debian
package's notice is its own file copyright.
"""

import pathlib
import re
import subprocess
import sys

# The C and C++ libraries of the system: the kernel's and libc's headers hold no code, and GCC's licence excepts what it
# compiles.
SYSTEM = re.compile(r"^(libc6|linux-libc|libstdc\+\+|libgcc|g\+\+|gcc|libgtest|googletest|libgmock)")


def compiled_files(build):
    """The files outside the checkout that the program's and the plugin's objects were compiled from."""
    record = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    files, ours = set(), False
    for line in record.splitlines():
        if line and not line.startswith(" "):
            ours = re.match(r"CMakeFiles/ridge(_\w+)?\.dir/", line) is not None
        elif ours:
            files.add(line.strip())
    chart = re.search(r"^RIDGE_CHART_JS:FILEPATH=(.*)$", (pathlib.Path(build) / "CMakeCache.txt").read_text(), re.M)
    return {file for file in files if file.startswith("/usr/")} | {chart.group(1)}


def debian_packages(files):
    """The packages that hold `files`; a merged /usr knows some of them by their older names."""
    real = {str(pathlib.Path(file).resolve()) for file in files}
    asked = sorted(real | {file.removeprefix("/usr") for file in real if file.startswith("/usr/lib/")})
    found = subprocess.run(["dpkg-query", "--search", *asked], capture_output=True, text=True).stdout
    owners = {line.rsplit(": ", 1)[1]: line.split(": ", 1)[0] for line in found.splitlines() if ": " in line}
    missing = [file for file in real if file not in owners and file.removeprefix("/usr") not in owners]
    if missing:
        sys.exit(f"notices: no Debian package owns {missing[0]}, so its licence is unknown")
    packages = {package.split(":")[0].strip() for names in owners.values() for package in names.split(",")}
    return sorted(package for package in packages if not SYSTEM.match(package))


def debian_notices(packages):
    """Name, version and source of each package, and its notice."""
    wanted = "${Package} ${Version} (source ${source:Package} ${source:Version})\n"
    lines = subprocess.run(["dpkg-query", "--show", "-f", wanted, *packages], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [(f"Debian package {line}", pathlib.Path(f"/usr/share/doc/{line.split()[0]}/copyright")) for line in lines]


def main(build, deps, output, *libraries):
    deps, output = pathlib.Path(deps), pathlib.Path(output)
    notices = debian_notices(debian_packages(compiled_files(build) | set(libraries)))
    notices += [("ONNX", deps / "onnx/LICENSE"),
                ("ONNX Runtime, headers", deps / "onnxruntime-headers/usr/share/doc/libonnxruntime-dev/copyright")]
    names = {}  # of those that share one text: a library and its headers
    for name, file in notices:
        names.setdefault(file.read_text(errors="replace").strip(), []).append(name)
    # The licences that Debian keeps once for all packages.
    common = sorted(set(re.findall(r"/usr/share/common-licenses/([A-Za-z]+-[\d.]*\d)", "".join(names))))
    names |= {pathlib.Path("/usr/share/common-licenses",
                           name).read_text().strip("\n"): [f"/usr/share/common-licenses/{name}"]
              for name in common}
    text = "ridge holds code of the projects below; their notices and licences follow.\n\n"
    text += "".join(f"  {name}\n" for name, _ in notices)
    line = "=" * 100
    text += "".join(f"\n{line}\n" + "\n".join(of) + f"\n{line}\n\n{notice}\n" for notice, of in names.items())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
