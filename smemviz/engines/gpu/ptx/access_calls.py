"""What a rewritten kernel calls to report an access: functions in CUDA C++, compiled to PTX by NVRTC.

A request is counted as one of its class, ``request_classes``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from smemviz.engines.gpu.request_classes import DEGREES, WAVEFRONTS, ServedAs
from smemviz.frontends.cuda.nvrtc import compile_ptx
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE

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
