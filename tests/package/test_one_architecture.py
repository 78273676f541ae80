"""packaging/one_architecture.py on a library made here: heads, sizes and addresses stay, other architectures' code
becomes zeros."""

import os
import pathlib
import struct
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(os.environ["RIDGE_SOURCE"]) / "packaging/one_architecture.py"


def entry(kind, architecture, code, head=64):
    fields = struct.pack("<HHIQ", kind, 0x101, head, len(code)) + bytes(12) + struct.pack("<I", architecture)
    return fields.ljust(head, b"\1") + code


def fat_binary(*made):
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, sum(map(len, made))) + b"".join(made)


def library(device):
    """An ELF file whose sections are `device`, the host's code and the names."""
    names = b"\0.nv_fatbin\0.text\0.shstrtab\0"
    host = b"host" * 16
    sections, places, at = [device, host, names], [], 64
    for content in sections:
        places.append(at)
        at += len(content)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, at, 0, 64, 0, 0, 64,
                                                                 4, 3)
    rows = [(0, 0, 0)] + [(names.index(name), place, len(content))
                          for name, place,
                          content in zip((b".nv_fatbin", b".text", b".shstrtab"), places, sections, strict=True)]
    table = b"".join(struct.pack("<IIQQQQ", name, 1, 0, 0, place, length) + bytes(24) for name, place, length in rows)
    return head + b"".join(sections) + table


def reduced(folder, content, capability):
    (folder / "in.so").write_bytes(content)
    done = subprocess.run([sys.executable, SCRIPT, folder / "in.so", folder / "out.so", capability],
                          capture_output=True, text=True)
    return done, (folder / "out.so").read_bytes() if (folder / "out.so").exists() else None


@pytest.fixture
def provider():
    first = fat_binary(entry(2, 80, b"A" * 32), entry(2, 90, b"B" * 48), entry(1, 90, b"P" * 16),
                       entry(2, 120, b"C" * 24, head=112))
    return library(first + bytes(8) + fat_binary(entry(2, 90, b"D" * 40), entry(2, 80, b"E" * 8)))


def test_only_the_machine_code_of_one_architecture_is_left(tmp_path, provider):
    done, out = reduced(tmp_path, provider, "9.0")
    assert done.returncode == 0, done.stderr
    expected = provider
    for letter, count in ((b"A", 32), (b"P", 16), (b"C", 24), (b"E", 8)):
        assert letter * count in expected
        expected = expected.replace(letter * count, bytes(count))
    assert out == expected


def test_an_architecture_that_is_not_there_is_refused_by_those_that_are(tmp_path, provider):
    done, out = reduced(tmp_path, provider, "8.9")
    assert (done.returncode, out) == (1, None)
    assert "8.0, 9.0, 12.0" in done.stderr


WHOLE = fat_binary(entry(2, 90, b"B" * 48))
REFUSED = {
    "PTX alone": library(fat_binary(entry(1, 90, b"P" * 16), entry(2, 80, b"A" * 32))),
    "no library": b"text",
    "no kernels": library(b""),
    "cut off": library(WHOLE)[:200],
    "a fat binary longer than its section": library(WHOLE[:-8]),
    "an entry longer than its fat binary": library(WHOLE[:24] + struct.pack("<Q", 49) + WHOLE[32:]),
    "an entry without a head": library(WHOLE[:20] + bytes(4) + WHOLE[24:]),
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_provider_is_refused(tmp_path, content):
    done, out = reduced(tmp_path, content, "9.0")
    assert (done.returncode, out) == (1, None)
    assert done.stderr.startswith(str(tmp_path / "in.so")), "a sentence, no traceback"
