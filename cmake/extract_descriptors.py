"""extract_descriptors.py WHEEL OUT: writes the schema that tritonclient's wheel carries as a protobuf
FileDescriptorSet.

The wheel has no .proto files, but each generated *_pb2.py holds its file's descriptor as a bytes literal. The modules
are read, not imported: no python protobuf is needed, and their version checks do not matter.
"""

import ast
import sys
import zipfile

# In order of their imports, as protoc wants them.
MODULES = ("tritonclient/grpc/model_config_pb2.py", "tritonclient/grpc/service_pb2.py")


def descriptor(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "AddSerializedFile":
            return node.args[0].value
    raise SystemExit("no descriptor in a *_pb2.py of the wheel: its layout has changed")


def field(number, payload):
    """One length-delimited protobuf field."""
    length, size = len(payload), b""
    while length > 0x7F:
        size += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + payload


def main():
    wheel, out = sys.argv[1:]
    with zipfile.ZipFile(wheel) as archive:
        files = [descriptor(archive.read(module)) for module in MODULES]
    with open(out, "wb") as target:
        target.write(b"".join(field(1, file) for file in files))  # FileDescriptorSet.file = 1


if __name__ == "__main__":
    main()
