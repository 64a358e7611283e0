"""Loops with one difficulty each; run as a script, their results by whatever ``numba.cuda`` is there.

``python -m helpers.simulated_loops OUT.npz`` with NUMBA_ENABLE_CUDASIM=1 writes what Numba's simulator computes.
Numbers are 64 bits wide, so that the simulator, which computes as NumPy does, and Numba agree on types.
"""

import re
import sys
import textwrap
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from helpers.loop_texts import KINDS

HEAD = "import cmath\nimport math\nimport numpy as np\nfrom numba import boolean, complex128, cuda, float64, int64\n"


class Kind(NamedTuple):
    """Loops of one kind: the threads of the block, the kernel around each, its arguments, and the loops by name."""

    block: int
    kernel: str
    arguments: Callable[[], tuple]
    loops: dict[str, str]


CASES = {f"{name}, {loop}": (Kind(*kind), lines) for name, kind in KINDS.items() for loop, lines in kind[3].items()}


def text_of(case):
    """Return the text of a file with ``kernel``."""
    kind, lines = CASES[case]
    return HEAD + re.sub(r"^( *)\{body\}", lambda found: textwrap.indent(lines, found[1]), kind.kernel, flags=re.M)


def arrays(arguments):
    """Return the arrays among arguments, with those in tuples, those of records as numbers."""
    found = [array for one in arguments for array in (one if isinstance(one, tuple) else (one,))]
    return [one.view(np.float64) if one.dtype.fields else one for one in found if isinstance(one, np.ndarray)]


def main(path):
    """Run every case and write its arrays."""
    results = {}
    for case, (kind, _) in CASES.items():
        names, arguments = {}, kind.arguments()
        exec(text_of(case), names)
        names["kernel"][1, kind.block](*arguments)
        results |= {f"{case} {k}": array for k, array in enumerate(arrays(arguments))}
    np.savez(path, **results)


if __name__ == "__main__":
    main(sys.argv[1])
