"""torch_reference.py INDEX: rates of PyTorch on that GPU as JSON, by the best run of twenty:

FLOP/s of products and attention, bytes/s of copies.
"""

import json
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32, "fp32": torch.float32,
         "fp64": torch.float64}
EIGHT_BITS = ("fp8", "int8")  # second factors of columns one after the other, as the library asks for
LAB_PRODUCT, LAB_ATTENTION = ("bf16", 4096), (16, 2048,
                                              64)  # as the lab's (rows.py, LIKE_PYTORCHS): heads, positions, width


def best_seconds(work, inner=1):
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    times = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(inner):
            work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / inner)
    return min(times)


def product(name, size):
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    a, b = (torch.randn(size, size, device="cuda", dtype=TYPES[name]) for _ in range(2))
    c = torch.empty_like(a)
    return 2 * size**3 / best_seconds(lambda: torch.mm(a, b, out=c))


def product_of_eight_bits(name, size):
    if name == "int8":
        a, b = (torch.randint(-127, 127, (size, size), device="cuda", dtype=torch.int8) for _ in range(2))
        return 2 * size**3 / best_seconds(lambda: torch._int_mm(a, b.t()))
    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    return 2 * size**3 / best_seconds(lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16,
                                                               use_fast_accum=True))


def attention(backend, heads, length, width):
    q, k, v = (torch.randn(1, heads, length, width, device="cuda", dtype=torch.float16) for _ in range(3))
    with sdpa_kernel(backend):
        return 4 * heads * length**2 * width / best_seconds(lambda: scaled_dot_product_attention(q, k, v), 20)


def first_best(works):
    """The highest of these, without those that PyTorch has no kernel for; null if that is all of them."""
    rates = []
    for work, *arguments in works:
        try:
            rates.append(work(*arguments))
        except (RuntimeError, AttributeError) as error:  # of older ones, too
            sys.stderr.write(f"{arguments}: {error}\n")
    return max(rates, default=None)


def main():
    torch.cuda.set_device(int(sys.argv[1]))
    found = {name: first_best([(product, name, size) for size in (2048, 4096, 8192) if name != "fp64" or size < 8192])
             for name in TYPES}
    found |= {name: first_best([(product_of_eight_bits, name, size) for size in (4096, 8192)]) for name in EIGHT_BITS}
    found["lab_matmul"] = first_best([(product, *LAB_PRODUCT)])
    found["lab_attention"] = first_best([(attention, backend, *LAB_ATTENTION)
                                         for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION)])
    source, target = (torch.ones(1 << 29, dtype=torch.float32, device="cuda") for _ in range(2))
    found["copy"] = 2 * 4 * source.numel() / best_seconds(lambda: target.copy_(source))
    pinned, device = torch.empty(1 << 28, dtype=torch.uint8,
                                 pin_memory=True), torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    found["host-to-device"] = pinned.numel() / best_seconds(lambda: device.copy_(pinned, non_blocking=True))
    found["device-to-host"] = pinned.numel() / best_seconds(lambda: pinned.copy_(device, non_blocking=True))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
