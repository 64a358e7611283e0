"""The xoroshiro128+ generator as ``numba.cuda.random`` has it: the same states, the same numbers.

After Blackman and Vigna, https://prng.di.unimi.it (public domain): xoroshiro128+ for numbers, splitmix64 for the first
state. ``DEVICE`` are the functions that kernels call; both engines follow these definitions instead of Numba's.
"""

import math
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPE = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)

_TWO_PI_32 = np.float32(2 * math.pi)
_TWO_PI_64 = np.float64(2 * math.pi)
_UNIT = 1.0 / (1 << 53)
_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)  # 2**64 steps
_MASK = 2**64 - 1


@dataclass(frozen=True)
class DeviceFunction:
    """A device function, as ``@cuda.jit(device=True)`` would give it."""

    py_func: FunctionType


def device(function: Any) -> Any:
    """Make a function one of the device."""
    return DeviceFunction(function)


@device
def rotl(x: Any, k: Any) -> Any:
    """Rotate 64 bits to the left."""
    x = np.uint64(x)
    return (x << np.uint32(k)) | (x >> np.uint32(64 - k))


@device
def xoroshiro128p_next(states: Any, index: Any) -> Any:
    """Return the next 64 random bits of a generator."""
    index = np.int64(index)
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    result = s0 + s1
    s1 = s1 ^ s0
    states[index]["s0"] = rotl(s0, np.uint32(55)) ^ s1 ^ (s1 << np.uint32(14))
    states[index]["s1"] = rotl(s1, np.uint32(36))
    return result


@device
def init_xoroshiro128p_state(states: Any, index: Any, seed: Any) -> None:
    """Set a generator to the first state of a seed."""
    index = np.int64(index)
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint32(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint32(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint32(31))
    states[index]["s0"] = z
    states[index]["s1"] = z


@device
def xoroshiro128p_jump(states: Any, index: Any) -> None:
    """Let a generator make 2**64 steps."""
    index = np.int64(index)
    s0 = np.uint64(0)
    s1 = np.uint64(0)
    for word in (np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922)):
        for b in range(64):
            if word & (np.uint64(1) << np.uint32(b)):
                s0 = s0 ^ states[index]["s0"]
                s1 = s1 ^ states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


@device
def xoroshiro128p_uniform_float64(states: Any, index: Any) -> Any:
    """Return a float64 in [0, 1)."""
    return (xoroshiro128p_next(states, index) >> np.uint32(11)) * _UNIT


@device
def xoroshiro128p_uniform_float32(states: Any, index: Any) -> Any:
    """Return a float32 in [0, 1)."""
    return np.float32((xoroshiro128p_next(states, index) >> np.uint32(11)) * _UNIT)


@device
def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """Return a float32 of the normal distribution; takes two steps."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(np.float32(-2.0) * math.log(u1)) * math.cos(_TWO_PI_32 * u2)


@device
def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """Return a float64 of the normal distribution, from two float32 as numba-cuda does; takes two steps."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(np.float64(-2.0) * math.log(u1)) * math.cos(_TWO_PI_64 * u2)


DEVICE = {
    function.py_func.__name__: function
    for function in (
        init_xoroshiro128p_state,
        xoroshiro128p_jump,
        xoroshiro128p_next,
        xoroshiro128p_uniform_float64,
        xoroshiro128p_uniform_float32,
        xoroshiro128p_normal_float32,
        xoroshiro128p_normal_float64,
    )
}


# -- on the host: the states of generators that are 2**64 steps apart


def states(count: int, seed: int, start: int = 0) -> NDArray[Any]:
    """Return the states of ``count`` generators, the first one ``start`` times 2**64 steps from the seed's."""
    generators = np.zeros(count, DTYPE)
    if not count:
        return generators
    parts = _first_state(seed)
    jump = _jump_matrix()
    power = jump
    start &= _MASK
    while start:
        if start & 1:
            parts = _applied(power, parts)
        power = _applied(power, power)
        start >>= 1
    # Half as far again each time: the states of 2n generators are those of n, and these 2**64 * n steps on.
    while parts.shape[1] < count:
        parts = np.concatenate([parts, _applied(jump, parts)], axis=1)
        jump = _applied(jump, jump)
    generators["s0"], generators["s1"] = parts[:, :count]
    return generators


def _first_state(seed: int) -> NDArray[np.uint64]:
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    z ^= z >> 31
    return np.array([[z], [z]], np.uint64)


def _step(parts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    s0, s1 = parts
    s1 = s1 ^ s0

    def turned(x: NDArray[np.uint64], k: int) -> NDArray[np.uint64]:
        return (x << np.uint64(k)) | (x >> np.uint64(64 - k))

    return np.stack([turned(s0, 55) ^ s1 ^ (s1 << np.uint64(14)), turned(s1, 36)])


def _jump_matrix() -> NDArray[np.uint64]:
    """Return 2**64 steps as a matrix of bits, one column of 128 bits for each bit of a state; a step is linear."""
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    none = np.zeros(64, np.uint64)
    column = np.stack([np.concatenate([bits, none]), np.concatenate([none, bits])])
    total = np.zeros_like(column)
    for word in _JUMP:
        for k in range(64):
            if word >> k & 1:
                total ^= column
            column = _step(column)
    return total


def _applied(matrix: NDArray[np.uint64], parts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    result = np.zeros_like(parts)
    for half in range(2):
        for k in range(64):
            on = (parts[half] >> np.uint64(k)) & np.uint64(1)
            result ^= matrix[:, 64 * half + k, None] * on
    return result
