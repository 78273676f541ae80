"""A stub of PyTorch: tensors without numbers, and a clock that moves with each operation, by rates from TORCH_RATES
(JSON, FLOP/s by type or bytes/s).

It refuses what the real one refuses: wrong types, devices, layouts of 8-bit factors.
"""

import json
import os
from types import SimpleNamespace

RATES = json.loads(os.environ["TORCH_RATES"])
bfloat16, float16, float32, float64, float8_e4m3fn, int8, uint8 = "bf16", "fp16", "fp32", "fp64", "fp8", "int8", "uint8"
time = SimpleNamespace(now=0.0)


def spend(what, work):
    time.now += work / RATES[what]


class Tensor:
    def __init__(self, shape, dtype, device="cpu", turned=False):
        if dtype not in (bfloat16, float16, float32, float64, float8_e4m3fn, int8,
                         uint8) or device not in ("cpu", "cuda"):
            raise RuntimeError(f"no {dtype} on {device}")
        self.shape, self.dtype, self.device, self.turned = shape, dtype, device, turned

    def to(self, dtype):
        return Tensor(self.shape, dtype, self.device)

    def t(self):
        return Tensor(self.shape[::-1], self.dtype, self.device, not self.turned)

    def numel(self):
        count = 1
        for side in self.shape:
            count *= side
        return count

    def copy_(self, source, non_blocking=False):
        if self.numel() != source.numel() or self.dtype != source.dtype:
            raise RuntimeError("sizes or types differ")
        size = self.numel() * (1 if self.dtype == uint8 else 4)
        if self.device == source.device:
            return spend("copy", 2 * size)
        spend("host-to-device" if self.device == "cuda" else "device-to-host", size)


def made(*shape, dtype=float32, device="cpu", pin_memory=False):
    return Tensor(shape[0] if shape and isinstance(shape[0], tuple) else shape, dtype, device)


empty = ones = randn = made


def empty_like(tensor):
    return Tensor(tensor.shape, tensor.dtype, tensor.device)


def randint(low, high, shape, device="cpu", dtype=float32):
    return Tensor(shape, dtype, device)


def multiplied(kind, a, b):
    if a.device != "cuda" or a.dtype != b.dtype or a.shape[1] != b.shape[0]:
        raise RuntimeError("factors of different types, shapes or devices")
    slower = 1.1 if kind == bfloat16 and a.shape[0] < 8192 else 1  # than the rate, which large ones reach
    spend(kind, slower * 2 * a.shape[0] * a.shape[1] * b.shape[1])


def mm(a, b, out):
    if a.dtype not in (bfloat16, float16, float32, float64) or out.dtype != a.dtype:
        raise RuntimeError(f"mm has no kernel for {a.dtype}")
    multiplied("tf32" if a.dtype == float32 and backends.cuda.matmul.allow_tf32 else a.dtype, a, b)


def _int_mm(a, b):
    if a.dtype != int8 or not b.turned:
        raise RuntimeError("_int_mm: int8, and the second factor by columns")
    multiplied(int8, a, b)


def _scaled_mm(a, b, scale_a, scale_b, out_dtype, use_fast_accum=False):
    scaled = scale_a.dtype == float32 and scale_b.shape == ()
    if a.dtype != float8_e4m3fn or not b.turned or not scaled or out_dtype != bfloat16:
        raise RuntimeError("_scaled_mm: FP8 with scales, and the second factor by columns")
    multiplied(float8_e4m3fn, a, b)


class Event:
    def __init__(self, enable_timing=False):
        self.enabled, self.at = enable_timing, None

    def record(self):
        self.at = time.now

    def synchronize(self):
        assert self.at is not None

    def elapsed_time(self, end):
        assert self.enabled and end.enabled
        return (end.at - self.at) * 1e3  # [ms]


def set_device(index):
    if index != 0:
        raise RuntimeError("invalid device ordinal")


cuda = SimpleNamespace(Event=Event, set_device=set_device, synchronize=lambda: None)
backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)))
