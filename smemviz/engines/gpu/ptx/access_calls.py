"""What a request can cost, as one number: its class; and what a rewritten kernel calls to report an access.

A launch is counted as how many requests each site had of each class. The class of a global request is its sectors. That
of a shared request is its degree where that tells everything: all lanes are served as one group, so that there are as
many wavefronts and one is ideal. Where a warp is served in several groups the class holds ideal, degree and wavefronts,
``(ideal * 33 + degree) * 33 + wavefronts``. What is called is CUDA C++, compiled to PTX by NVRTC.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.frontends.cuda.nvrtc import compile_ptx
from smemviz.model.counting.summary import TOTALS_FOR, totals_of
from smemviz.model.hardware.hardware import Hardware, rule_of
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Requests, Site, Totals

DEGREES = WAVEFRONTS = WARP_SIZE + 1  # 0 to 32 of each
_IDEALS = WARP_SIZE // min(TOTALS_FOR.row.phases.values()) + 1  # 0 to 4 groups

# Warps of one class meet at one counter, so there are copies of it; as many as fit this, or one for this many warps.
_BYTES = 32 * 1024 * 1024
_COPIES = 1024


class ServedAs(NamedTuple):
    """How the device serves a shared request: the rule of the model in terms of what one lane asks for.

    That is a piece of ``piece_bytes`` that lies in one of ``places``: banks, or groups of neighbouring banks. ``lanes``
    are served together, twice as many where ``merges`` and they pair up. Lanes on one piece count once if ``shares``.
    """

    piece_bytes: int
    places: int
    lanes: int
    merges: bool
    shares: bool


def served_as(op: str, width: int, hardware: Hardware = TOTALS_FOR) -> ServedAs:
    """Return how requests are served, for hardware whose banks hold one word of a lane each."""
    rule = rule_of(hardware.row, width, op, hardware.bank_bytes)
    return ServedAs(rule.words << rule.word_shift, rule.banks // rule.words, rule.phase_lanes, rule.merges, rule.shares)


def in_groups(site: Site) -> bool:
    """Tell whether lanes of a warp may be served in several groups: 8 and 16 bytes, but not by atomics."""
    return site.is_shared and served_as(site.op, site.width).lanes < WARP_SIZE


def shape_of_counts(sites: Sequence[Site]) -> tuple[int, int, int]:
    """Return how many copies, sites and classes the counts of a launch have."""
    classes = _IDEALS * DEGREES * WAVEFRONTS if any(map(in_groups, sites)) else DEGREES
    copy_bytes = 8 * classes * max(len(sites), 1)
    return max(1, min(_COPIES, _BYTES // copy_bytes)), max(len(sites), 1), classes


def totals(sites: Sequence[Site], counts: NDArray[np.int64]) -> Totals:
    """Return the totals of counts that are shaped (copies, sites, classes)."""
    summed = totals_of(sites, Requests.empty())
    for i, (site, requests) in enumerate(zip(sites, counts.sum(axis=0), strict=False)):
        number = np.flatnonzero(requests)
        of_it = requests[number]
        summed.requests[i] = of_it.sum()
        if site.space == "global":
            summed.sectors[i] = of_it @ number
            continue
        ideal, degree, wavefronts = np.ones_like(number), number, number
        if in_groups(site):
            ideal, degree = np.divmod(number // WAVEFRONTS, DEGREES)
            wavefronts = number % WAVEFRONTS
        summed.wavefronts[i] = of_it @ wavefronts
        summed.ideal[i] = of_it @ ideal
        np.add.at(summed.degrees[i], degree, of_it)
    return summed


# Words of 8 bytes in a row of the log: addresses, the bits that were stored, and facts.
SITE, EPOCH, WARP, STEP = range(2 * WARP_SIZE, 2 * WARP_SIZE + 4)
ROW_WORDS = STEP + 1
ROW_BYTES = 8 * ROW_WORDS

HAS_VALUES = 1 << 31  # in the word of the site: what follows the addresses was stored

# What a launch is given, each a word of 8 bytes; all but the numbers are addresses.
LAUNCH = ("counts", "copies", "stride", "bases", "chosen", "used", "cursor", "rows", "log")

_OPTIONS = ("--std=c++17", "-default-device", "-rdc=true")
_REDUCES = (8, 0)  # from here on a warp finds the largest of its values in one instruction
_OUTSIDE = re.compile(r"^(?:\.(?:version|target|address_size)|\s*//)[^\n]*\n", re.MULTILINE)

_CLASS = re.compile(
    r"\.visible \.func\s+\(\.param \.b32 func_retval0\) (?P<name>smemviz_(?:sectors|class_\w+))\([^)]*\)\s*"
    r"\{(?P<body>(?:(?!\bret;).)*)\bret;\s*\}",
    re.DOTALL,
)

_CONSTANTS = {"DEGREES": DEGREES, "WAVEFRONTS": WAVEFRONTS, "SECTOR_BYTES": SECTOR_BYTES}
_DEFINES = "".join(f"#define {name} {value}\n" for name, value in _CONSTANTS.items())

_TEXT = """
typedef unsigned long long word;
struct Launch {
    word *counts, copies, stride;
    long long *bases;
    const unsigned char *chosen;
    unsigned *used;
    word *cursor, rows, *log;
};

static unsigned lane() {
    unsigned found;
    asm("mov.u32 %0, %%laneid;" : "=r"(found));
    return found;
}

static unsigned thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

static word warp() {
    word block = blockIdx.x + (word)gridDim.x * (blockIdx.y + (word)gridDim.y * blockIdx.z);
    return block * ((blockDim.x * blockDim.y * blockDim.z + 31) / 32) + thread() / 32;
}

static unsigned first(unsigned mask) { return __ffs(mask) - 1; }

extern "C" word smemviz_counters(const Launch *launch) {
    return (word)(launch->counts + warp() % launch->copies * launch->stride);
}

extern "C" unsigned smemviz_chosen(const Launch *launch) { return launch->chosen[warp()]; }

extern "C" void smemviz_base(const Launch *launch, unsigned number, word address) {
    if (thread() == 0) launch->bases[number] = address;
}

extern "C" word smemviz_warp(const Launch *launch) { return warp(); }

// The largest of the values, 0 to 63, that some of the lanes of a mask hold.
static unsigned largest_of_some(unsigned mask, unsigned lanes, unsigned value) {
    unsigned result = 0;
    for (int bit = 5; bit >= 0; bit--) {
        unsigned votes = __ballot_sync(mask, value >> bit & 1) & lanes;
        if (votes) {
            result |= 1u << bit;
            lanes = votes;
        }
    }
    return result;
}

static unsigned largest(unsigned mask, unsigned value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(mask, value);
#else
    return largest_of_some(mask, mask, value);
#endif
}

// The sum of the values, 0 to 63, that some of the lanes of a mask hold.
static unsigned sum(unsigned mask, unsigned lanes, unsigned value) {
    unsigned result = 0;
    for (int bit = 0; bit < 6; bit++) result += __popc(__ballot_sync(mask, value >> bit & 1) & lanes) << bit;
    return result;
}

// How many different keys there are, among some lanes, whose group is that of this lane.
template <class Key> static unsigned different(unsigned mask, unsigned lanes, Key key, unsigned group) {
    unsigned same = __match_any_sync(mask, key) & lanes;
    unsigned leaders = __ballot_sync(mask, lane() == first(same)) & lanes;
    return __popc(__match_any_sync(mask, group) & leaders & lanes);
}

// Whether every lane has, at this distance, a partner that is off or has the same address.
static bool has_partners(unsigned mask, unsigned address, unsigned distance) {
    unsigned other = __shfl_xor_sync(mask, address, distance);
    bool off = !(mask >> (lane() ^ distance) & 1);
    return __all_sync(mask, off || other == address);
}

template <unsigned PIECE, unsigned PLACES, unsigned LANES, bool MERGES, bool SHARES>
static unsigned shared_class(unsigned mask, unsigned address) {
    unsigned key = address / PIECE;
    if (LANES == 32) {
        if (!SHARES) return largest(mask, __popc(__match_any_sync(mask, key % PLACES)));
        return largest(mask, different(mask, mask, key, key % PLACES));
    }
    unsigned size = LANES;
    if (MERGES && (has_partners(mask, address, 1) || has_partners(mask, address, 2))) size *= 2;
    unsigned lanes = size < 32 ? mask & ((1u << size) - 1) << lane() / size * size : mask;
    unsigned degree = largest_of_some(mask, lanes, different(mask, lanes, key, key % PLACES));
    unsigned firsts = __ballot_sync(mask, lane() == first(lanes));
    return (__popc(firsts) * DEGREES + largest(mask, degree)) * WAVEFRONTS + sum(mask, firsts, degree);
}

extern "C" unsigned smemviz_sectors(unsigned mask, word address) {
    word sector = address / SECTOR_BYTES;
    unsigned before = mask & ((1u << lane()) - 1);
    word last = __shfl_sync(mask, sector, before ? 31 - __clz(before) : lane());
    if (__all_sync(mask, last <= sector)) return __popc(__ballot_sync(mask, last != sector)) + 1;
    return different(mask, mask, sector, 0);
}
"""


def class_name(rule: ServedAs) -> str:
    """Return the name of the function that works out the class of a shared request."""
    return f"smemviz_class_{'_'.join(str(int(flag)) for flag in rule)}"


@dataclass(frozen=True)
class Functions:
    """The functions as PTX: those that are called, and the bodies of those that work out a class, by name."""

    called: str
    bodies: Mapping[str, str]

    def written_out(self, name: str, parameters: Sequence[tuple[str, str]], result: str, number: int) -> Iterator[str]:
        """Give a body where it is needed; ``parameters`` are types and registers, the number keeps its labels apart.

        It is not called: lanes that wait at the end of a branch, while others of their warp make a call, go on without
        them (seen on an H200).
        """
        text = self.bodies[name].replace("$L__BB", f"$b{number}_")
        for at, (kind, register) in enumerate(parameters):
            text = re.sub(rf"ld\.param\.\w+\s+(%\w+), \[{name}_param_{at}\]", rf"mov.{kind} \1, {register}", text)
        yield "{"
        yield from re.sub(r"st\.param\.b32\s+\[func_retval0\+0\]", f"mov.b32 {result}", text).splitlines()
        yield "}"


def functions(kinds: Iterable[ServedAs], capability: tuple[int, int]) -> Functions:
    """Return the functions for a compute capability, those for some kinds of shared requests among them.

    Raises:
        MissingError: when NVRTC is not installed.
    """
    return _compiled(tuple(sorted(set(kinds))), capability >= _REDUCES)


@lru_cache(maxsize=16)
def _compiled(kinds: tuple[ServedAs, ...], reduces: bool) -> Functions:
    architecture = f"--gpu-architecture=compute_{80 if reduces else 75}"
    text = _DEFINES + _TEXT
    for kind in kinds:
        values = ", ".join(str(flag).lower() for flag in kind)
        call = f"shared_class<{values}>(mask, address)"
        text += f'extern "C" unsigned {class_name(kind)}(unsigned mask, unsigned address) {{ return {call}; }}\n'
    ptx = _OUTSIDE.sub("", compile_ptx(text, "smemviz_reports.cu", (architecture, *_OPTIONS), {}, ()).text)
    bodies = {match["name"]: match["body"] for match in _CLASS.finditer(ptx)}
    return Functions(_CLASS.sub("", ptx), bodies)
