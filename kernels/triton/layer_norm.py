"""A layer norm of each row in Triton, with mean and variance: two reductions, one after the other.

Both use the same scratch memory, one when the other is done with it, and so barriers are between them.
"""

import torch
import triton
import triton.language as tl

ROWS = 8
COLUMNS = 768
WARPS = 4
EPSILON = 1e-5


@triton.jit
def layer_norm(out, matrix, weight, bias, columns, epsilon, BLOCK: tl.constexpr):
    """Each program has a row in its registers."""
    row = tl.program_id(0) * columns
    column = tl.arange(0, BLOCK)
    inside = column < columns
    values = tl.load(matrix + row + column, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scaled = centred * tl.rsqrt(variance + epsilon)
    scaled = scaled * tl.load(weight + column, mask=inside) + tl.load(bias + column, mask=inside)
    tl.store(out + row + column, scaled, mask=inside)


def main():
    """Launch it, and check what it leaves."""
    torch.manual_seed(0)
    matrix = torch.randn(ROWS, COLUMNS, device="cuda")
    weight, bias = torch.randn(COLUMNS, device="cuda"), torch.randn(COLUMNS, device="cuda")
    out = torch.empty_like(matrix)
    block = triton.next_power_of_2(COLUMNS)
    layer_norm[(ROWS,)](out, matrix, weight, bias, COLUMNS, EPSILON, BLOCK=block, num_warps=WARPS)
    expected = torch.nn.functional.layer_norm(matrix, (COLUMNS,), weight, bias, EPSILON)
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-4)


if __name__ == "__main__":
    main()
