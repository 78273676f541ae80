"""Writes, as a header for C++, what Cython's .pxd files declare. NVIDIA generates them from its headers for its Python
packages, with every value, structure and prototype; cublasLt.h itself comes only in packages of hundreds of megabytes.

    bindings_to_header.py PREFIX FILE.pxd... > HEADER     with the functions whose names begin with PREFIX
"""
import re
import sys


def blocks(text):
    """Statements, each a first line and the indented ones under it, without comments and blank lines."""
    statement = []
    for line in re.sub(r"\(\n(.*?)\n\)", lambda m: "(" + " ".join(m[1].split()) + ")", text, flags=re.S).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if statement and not line[0].isspace():
            yield statement
            statement = []
        statement.append(line.strip())
    if statement:
        yield statement


def declaration(statement):
    head, body = re.sub(r" (['\"])\w+\1", "", statement[0]), statement[1:]
    if match := re.match(r"c(?:type)?def (enum|struct|union) (\w+):$", head):
        members = [re.sub(r' "\w+"', "", line) + ("," if match[1] == "enum" else ";") for line in body]
        return f"{match[1]} {match[2]} {{ {' '.join(members)} }};"
    if match := re.match(r"ctypedef (.*)", head):
        return f"typedef {match[1]};"
    if match := re.match(rf"cdef (.* {sys.argv[1]}.*\)) except.* nogil", head):
        return match[1] + ";"
    return ""  # what is taken from other files, and "cdef extern": a header in C


print("#include <cuda.h>\n#include <library_types.h>\n\n#include <cstdint>\n#include <cstdio>\n\nextern \"C\" {")
print("typedef CUstream cudaStream_t;\ntypedef CUevent cudaEvent_t;")
for path in sys.argv[2:]:
    for one in blocks(open(path).read()):
        if text := declaration(one).replace("_cyb_bool", "bool"):
            print(text)
print("}")
