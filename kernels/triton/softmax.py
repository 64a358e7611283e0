"""A softmax of each row in Triton: shared memory is only the scratch of its two reductions.

Warps reduce among themselves by shuffles. Each then leaves one number in shared memory, and all read them: few
requests, however long a row is.
"""

import torch
import triton
import triton.language as tl

ROWS = 8
COLUMNS = 1000
WARPS = 4


@triton.jit
def softmax(out, matrix, columns, BLOCK: tl.constexpr):
    """Each program has a row in its registers."""
    row = tl.program_id(0) * columns
    column = tl.arange(0, BLOCK)
    values = tl.load(matrix + row + column, mask=column < columns, other=-float("inf"))
    raised = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + column, raised / tl.sum(raised, axis=0), mask=column < columns)


def main():
    """Launch it, and check what it leaves."""
    torch.manual_seed(0)
    matrix = torch.randn(ROWS, COLUMNS, device="cuda")
    out = torch.empty_like(matrix)
    softmax[(ROWS,)](out, matrix, COLUMNS, BLOCK=triton.next_power_of_2(COLUMNS), num_warps=WARPS)
    torch.testing.assert_close(out, torch.softmax(matrix, 1))


if __name__ == "__main__":
    main()
