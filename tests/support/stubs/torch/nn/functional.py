from torch import float16, spend
from torch.nn.attention import SDPBackend, chosen


def scaled_dot_product_attention(q, k, v):
    """Without cuDNN's."""
    if chosen[-1] != SDPBackend.FLASH_ATTENTION or q.dtype != float16:
        raise RuntimeError("No available kernel. Aborting execution.")
    _, heads, length, width = q.shape
    spend("attention", 4 * heads * length**2 * width)
