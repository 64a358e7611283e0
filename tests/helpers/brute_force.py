"""The rules of shared memory a second time: bytes, sets and loops, and nothing of the model but its words."""

from collections.abc import Hashable

from smemviz.recordings.vocabulary import MATRICES

Phase = list[tuple[int, int, int]]  # (lane, word of the lane, byte address of that word)


def groups(width: int, op: str, addresses: list[int], cc: tuple[int, int]) -> list[range]:
    """Return the lanes that are served together, in order."""
    if op in MATRICES:
        return [range(m * 8, m * 8 + 8) for m in range(MATRICES[op])]
    if op not in ("load", "store"):
        return [range(32)]
    if cc[0] == 1:
        return [range(16), range(16, 32)]
    size = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    if cc[0] == 3:
        size = {8: 32, 16: 16}.get(width, 32)
    if cc[0] >= 5 and op == "load" and width in (8, 16):
        for distance in (1, 2):
            active = [lane for lane in range(32) if addresses[lane] != -1]
            if all(addresses[lane ^ distance] in (-1, addresses[lane]) for lane in active):
                size = {8: 32, 16: 16}[width]
    return [range(first, first + size) for first in range(0, 32, size)]


def phases(
    addresses: list[int], width: int, op: str, cc: tuple[int, int], bank_bytes: int
) -> list[tuple[Phase, list[tuple[int, Hashable]]]]:
    """Return for each phase who asks for what, and as (bank, what shares a turn in it) in the same order."""
    result = []
    words = list(range(max(1, width // bank_bytes)))
    for word_set in [[w] for w in words] if cc[0] == 1 else [words]:
        for lanes in groups(width, op, addresses, cc):
            phase = [(n, w, addresses[n] + w * bank_bytes) for n in lanes if addresses[n] != -1 for w in word_set]
            turns: list[tuple[int, Hashable]] = []
            for lane, _, byte in phase:
                bank = byte // bank_bytes % (16 if cc[0] == 1 else 32)
                shared_with: Hashable = byte // 4
                if cc[0] == 3:
                    shared_with = byte // 8 if bank_bytes == 8 else byte // 256
                if op.startswith(("atomic", "reduce")) and op != "reduce_inc":
                    shared_with = lane
                turns.append((bank, shared_with))
            result.append((phase, turns))
    return result


def degree_of(turns: list[tuple[int, Hashable]]) -> int:
    """Return the most different turns any bank has to take."""
    by_bank: dict[int, set[Hashable]] = {}
    for bank, turn in turns:
        by_bank.setdefault(bank, set()).add(turn)
    return max(map(len, by_bank.values()), default=0)


def count(addresses: list[int], width: int, op: str, cc: tuple[int, int], bank_bytes: int) -> tuple[int, int, int]:
    """Return wavefronts, ideal, degree."""
    more = 1 if cc[0] == 2 and width == 16 else 0
    degrees = [degree_of(turns) for _, turns in phases(addresses, width, op, cc, bank_bytes)]
    degrees = [d + more if d else 0 for d in degrees]
    return sum(degrees), sum(1 + more for d in degrees if d), max(degrees)


def assign(addresses: list[int], width: int, op: str, cc: tuple[int, int], bank_bytes: int) -> list[list[int]]:
    """Return the wavefront of each word of each lane: the k-th different turn of a bank, after all earlier phases."""
    result = [[-1] * max(1, width // bank_bytes) for _ in range(32)]
    before = 0
    for phase, turns in phases(addresses, width, op, cc, bank_bytes):
        queues: dict[int, list[Hashable]] = {}
        for (lane, word, _), (bank, turn) in zip(phase, turns, strict=True):
            queue = queues.setdefault(bank, [])
            if turn not in queue:
                queue.append(turn)
            result[lane][word] = before + queue.index(turn)
        degree = degree_of(turns)
        if degree and cc[0] == 2 and width == 16:  # the last wavefront leaves half of its words to one more
            for lane in {lane for lane, _, _ in phase}:
                result[lane] = [n + 1 if i > 1 and n == before + degree - 1 else n for i, n in enumerate(result[lane])]
            degree += 1
        before += degree
    return result
