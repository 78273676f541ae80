"""check_layers.py: refuses includes that the architecture does not have.

1. src/<folder>/ (of tests also tests/unit/<folder>/) includes only the folders that docs/architecture.md's list gives
   it; every folder is in the list, and the list grants nothing that the product does not use and nothing that stands
   below. Tests may also include what their folder's TEST_LINK in CMakeLists.txt names, which grants nothing unused
   either.
2. A third-party header stays inside the folder that wraps it: what another folder includes does not bring it in,
   but for the few in OPEN that interfaces are written in.
3. Each folder's library links what the list allows and nothing else of ours (LINK in CMakeLists.txt).
4. A file's namespace is its folder.
5. No string literal outside src/engine is an engine's name, the name of a provider, or begins an option of one: what
   depends on the engine is a column of engine/engines.h, or a function of engine/providers.h.
6. The page's closed list of base names its headers.
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOTS = (ROOT / "src", ROOT / "tests/unit")  # the product and its unit tests; what only tests share
# Vocabulary of interfaces: text formatting and JSON's forward declarations; of what tests share: the system's and
# GoogleTest.
OPEN = {"fmt/format.h", "nlohmann/json_fwd.hpp", "unistd.h", "arpa/inet.h", "netinet/in.h", "poll.h", "gtest/gtest.h"}
NOTHING = "nothing of ours"
# plan.h: the default of plans. doctor/: packages of Python that bear the name, and a finding about them.
NAMES_ENGINES = ("src/engine/", "src/plan/plan.h", "src/doctor/installed.cc", "src/doctor/versions.cc")
FOLDER = re.compile(
    r"^ridge_folder\((\w+)\s+(?:ONCE\s+|WIRE\s+)?LINK\s+([^)]*?)(?:TEST_LINK\s+([^)]*?))?(?:EXCEPT\s[^)]*)?\)",
    re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def table():
    """{folder: set of folders} from the list in docs/architecture.md: "- **cost** (base, model): …"."""
    items = re.findall(r"^- \*\*([a-z]+)\*\* \(([a-z,\s]+)\):", (ROOT / "docs/architecture.md").read_text(),
                       re.MULTILINE)
    return {folder: set() if may == NOTHING else set(re.split(r",\s+", may)) for folder, may in items}


def links():
    """{folder: (what its library links, what its tests link besides)}, folders of ours only, from CMakeLists.txt."""
    ours = lambda libraries: {name.removeprefix("ridge_") for name in libraries.split() if name.startswith("ridge_")}
    rows = {folder: (ours(product), ours(tests)) for folder, product,
            tests in FOLDER.findall((ROOT / "CMakeLists.txt").read_text())}
    return {folder: (product & set(rows), tests & set(rows)) for folder, (product, tests) in rows.items()}


def is_test(path):
    """True for a file of the tests: a test, a fuzz target, or a header that they share."""
    return path.is_relative_to(ROOTS[1]) or path.name.endswith(("_test.cc", "_fuzz.cc"))


def ours(kind, name):
    """True if an include names a file of this project."""
    return kind == '"' and "/" in name and (ROOT / "src" / name.split("/")[0]).is_dir()


def third_party(kind, name):
    """True if an include names neither ours nor the standard library's (<vector>) nor the system's (<sys/...>)."""
    return not ours(kind, name) and name not in OPEN and not name.startswith("sys/") and ("/" in name or "." in name)


@functools.cache
def shown_by(name):
    """The third-party headers that including our header `name` brings in."""
    path = next((root / name for root in ROOTS if (root / name).is_file()), None)
    shown = set()
    for kind, inner in INCLUDE.findall(path.read_text()) if path else ():
        if ours(kind, inner):
            shown |= shown_by(inner)
        elif third_party(kind, inner):
            shown.add(inner)
    return shown


def check_file(path, allowed, for_tests, used, complain):
    test = is_test(path)
    place = path.relative_to(next(root for root in ROOTS if path.is_relative_to(root)))
    folder = place.parts[0]
    may = allowed[folder] | for_tests if test else allowed[folder]
    own = "::".join(["ridge", *place.parent.parts]).replace("ridge::base", "ridge")
    text = path.read_text()
    named = re.findall(r"^namespace (ridge[\w:]*) \{", text, re.MULTILINE)
    # A class of another folder may be declared ahead; what the file defines lies in its folder's namespace, or in one
    # inside it.
    if named and not any(name == own or name.startswith(own + "::") for name in named):
        complain(path, f"is in namespace {named[0]}; its folder's is {own}")
    for kind, name in INCLUDE.findall(text):
        target = name.split("/")[0]
        if not ours(kind, name) or target == folder:
            continue
        used.add((folder, target, test))
        if target not in may:
            complain(path, f'includes "{name}", but {folder} may include only: {", ".join(sorted(may)) or "nothing"}')
        elif shown_by(name):
            complain(path,
                     f'includes "{name}", which shows {", ".join(sorted(shown_by(name)))}; keep that inside {target}')


def check_engine_names(path, engines, complain):
    name = str(path.relative_to(ROOT))
    if name.startswith(NAMES_ENGINES) or is_test(path):
        return
    code = re.sub(r"^\s*#.*|//.*", "", path.read_text(), flags=re.MULTILINE)
    for literal in re.findall(r'"(' + "|".join(engines) + ')"', code):
        complain(path, f'names the engine "{literal}"; compare a column of engine/engines.h')
    providers = r"\w*ExecutionProvider|Tensorrt|NvTensorRT|ROCM|MIGraphX" + ("" if name.startswith("src/gpu/")
                                                                             else "|CUDA")
    for literal in re.findall(f'"({providers})"', code):
        complain(path, f'names the provider "{literal}"; that belongs to engine/providers.h')
    for literal in re.findall(r'"((?:cuda|tensorrt)\.[a-z_]*)', code):
        complain(path, f'names the option "{literal}…" of an engine; that belongs to a column of engine/engines.h')


def check_links(allowed, linked, used, complain):
    path = ROOT / "CMakeLists.txt"
    for folder, (product, tests) in linked.items():
        may = allowed.get(folder, product)
        if product != may:
            complain(path, f"{folder} links {', '.join(sorted(product))}; the list says {', '.join(sorted(may))}")
        for target in sorted(tests):
            if target in product or (folder, target, True) not in used:
                complain(path, f"{folder}: TEST_LINK names {target}, which no test of it needs")


def check_base(complain):
    """The closed list of base in docs/architecture.md names its headers."""
    page = ROOT / "docs/architecture.md"
    listed = set(re.search(r"a closed list: ([a-z_\s]+)", page.read_text())[1].split())
    there = {header.stem for header in (ROOT / "src/base").glob("*.h")}
    for name in sorted(listed ^ there):
        complain(page, f"base/{name}.h is " + ("listed and missing" if name in listed else "not in the list of base"))


def main():
    complaints = []

    def complain(path, text):
        complaints.append(f"{path.relative_to(ROOT)}: {text}")

    allowed, linked, used = table(), links(), set()
    engines = sorted(path.name for path in (ROOT / "src/engine").iterdir() if path.is_dir())
    for folder in sorted(path for path in (ROOT / "src").iterdir() if path.is_dir()):
        if folder.name not in allowed:
            complain(folder, "is not in the list of docs/architecture.md")
            continue
        for path in sorted(path for root in ROOTS for kind in ("*.h", "*.cc")
                           for path in (root / folder.name).rglob(kind)):
            check_file(path, allowed, linked.get(folder.name, (set(), set()))[1], used, complain)
            check_engine_names(path, engines, complain)
    order = list(allowed)
    for folder, may in allowed.items():
        for target in sorted(may):
            if (folder, target, False) not in used:
                complain(ROOT / "docs/architecture.md",
                         f"{folder} may include {target}, which its product files do not")
            elif target not in order[: order.index(folder)]:
                complain(ROOT / "docs/architecture.md", f"{folder} may include {target}, which does not stand above it")
    check_links(allowed, linked, used, complain)
    check_base(complain)
    if complaints:
        sys.exit("layers:\n  " + "\n  ".join(complaints))


if __name__ == "__main__":
    main()
