"""one_architecture.py PROVIDER OUT CAPABILITY: a copy of ONNX Runtime's GPU provider with the kernels of one kind of
GPU.

PROVIDER is libonnxruntime_providers_cuda.so of an onnxruntime-gpu wheel, most of which is the same kernels for six
architectures. OUT has zeros in place of all but those of CAPABILITY (9.0): as long, with every address as before, and a
quarter as large once packed. It runs on GPUs of that compute capability, and on later ones of the same major number. To
take it to a machine without network:

  python3 packaging/one_architecture.py .../onnxruntime/capi/libonnxruntime_providers_cuda.so provider.so 9.0 && xz
  provider.so

Exit 1: PROVIDER has no machine code for CAPABILITY (PTX does not count), or is no such library; 2: wrong usage. Nothing
is written then.
"""

import collections
import pathlib
import struct
import sys

# Kernels lie in fat binaries: a head, then entries, each with a head and code for one architecture. NVIDIA documents
# none of it; read from libraries of CUDA 12 and 13, where the sum of all entries is the size in the head.
FAT_HEAD = struct.Struct("<IHHQ")  # magic, version, bytes of this head, bytes of all entries
FAT_MAGIC = 0xBA55ED50
ENTRY_HEAD = struct.Struct("<HHIQ12xI")  # kind, version, bytes of this head, bytes of the code, …, architecture
MACHINE_CODE = 2  # kind; 1 is PTX
SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")


def device_sections(library):
    """(begin, end) of each section with fat binaries: ELF-64 specification, "Section header"."""
    if library[:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is no 64-bit ELF library")
    table = struct.unpack_from("<Q", library, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", library, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", library, table + i * size) for i in range(count)]
    for name, _, _, _, begin, length in heads:
        at = heads[names][4] + name
        if library[at : library.index(b"\0", at)] in SECTIONS:
            yield begin, begin + length


def entries(library, begin, end):
    """(kind, architecture, begin, end) of each code in a section."""
    at = begin
    while at + FAT_HEAD.size <= end:
        magic, _, head, length = FAT_HEAD.unpack_from(library, at)
        if magic != FAT_MAGIC:
            at += 8  # padding between fat binaries
            continue
        entry, at = at + head, at + head + length
        while entry < at <= end:
            kind, _, own, code, architecture = ENTRY_HEAD.unpack_from(library, entry)
            if own < ENTRY_HEAD.size:
                break
            yield kind, architecture, entry + own, entry + own + code
            entry += own + code
        if entry != at or head < FAT_HEAD.size:
            raise ValueError(f"the entries of the fat binary before {at} end at {entry}")


def reduce(library, wanted):
    """Clears all other code in place.

    Returns the bytes of machine code by architecture, and of all code, as they were.
    """
    sizes, total = collections.Counter(), 0
    for section in list(device_sections(library)):
        for kind, architecture, begin, end in list(entries(library, *section)):
            total += end - begin
            if kind == MACHINE_CODE:
                sizes[architecture] += end - begin
            if kind != MACHINE_CODE or architecture != wanted:
                library[begin:end] = bytes(end - begin)
    return sizes, total


def main():
    if len(sys.argv) != 4 or not sys.argv[3].replace(".", "").isdigit():
        sys.stderr.write(__doc__)
        return 2
    provider, out, wanted = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3].replace(".", ""))
    library = bytearray(provider.read_bytes())
    try:
        sizes, total = reduce(library, wanted)
    except (ValueError, struct.error) as error:
        sys.exit(f"{provider}: {error}")
    if wanted not in sizes:
        found = ", ".join(f"{number // 10}.{number % 10}" for number in sorted(sizes))
        sys.exit(f"{provider}: no kernels for compute capability {sys.argv[3]}; it has {found or 'none at all'}")
    out.write_bytes(library)
    print(f"{out}: {sizes[wanted] / 1e6:.1f} of {total / 1e6:.1f} MB of kernels kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
