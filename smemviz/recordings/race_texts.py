"""What is said of a race: which threads did what to an element, what does not order them, and what would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smemviz.messages import english

Facts = Mapping[str, Any]


def race(facts: Facts) -> tuple[str, str]:
    """Say which threads race for an element and why, and what ends it: an atomic, a barrier, or two launches."""
    return _reason({"what": _what_was_done(facts), **facts}), _remedy(facts)


def benign_race(facts: Facts) -> tuple[str, str]:
    """Say which threads store the same value in an element."""
    what = _what_was_done(facts)
    return english("{what}, the same value: it does no harm that nothing orders them.", what=what), ""


def _reason(values: Facts) -> str:
    match values["between"]:
        case "blocks":
            return english("{what}; nothing orders the blocks of a launch", **values)
        case "warps":
            return english("{what} with no barrier between", **values)
        case "lanes":
            return english("{what}, both of one warp, with no {word} between", **values)
        case "lanes at once":
            return english("{what} in one request with different values", **values)
    return english("{what}, and one of the two results is lost", **values)


def _remedy(facts: Facts) -> str:
    match facts["remedy"]:
        case "update":
            return english("Use {atomic}.", **facts)
        case "atomic":
            return english("Let one thread do it, or use {atomic}.", **facts)
        case "launches":
            return english("Make it two launches, or order them with {fence} and an atomic.", **facts)
        case "loop":
            return english("Put {barrier} at the end of the loop of line {line}.", **facts)
    return english("Put {barrier} between them.", **facts)


def _what_was_done(facts: Facts) -> str:
    """Say which threads did what to an element, and where; of which blocks, where that is given."""
    element, first, second = facts["element"], facts["first"], facts["second"]
    if (first["did"], first["line"]) != (second["did"], second["line"]):
        return english("{element} is {did} and {does}", element=element, did=_by(first), does=_by(second))
    values = {"element": element, "first": first["thread"], "second": second["thread"], "line": first["line"]}
    if "block" in first:
        return english(
            "{element} is stored by thread {first} of block {block} and thread {second} of block {other} "
            "at line {line}",
            block=first["block"],
            other=second["block"],
            **values,
        )
    if first["did"] == "store":
        return english("{element} is stored by threads {first} and {second} at line {line}", **values)
    return english("{element} is updated by threads {first} and {second} at line {line}", **values)


def _by(access: Facts) -> str:
    match access["did"], "block" in access:
        case "load", False:
            return english("loaded by thread {thread} at line {line}", **access)
        case "load", True:
            return english("loaded by thread {thread} of block {block} at line {line}", **access)
        case "store", False:
            return english("stored by thread {thread} at line {line}", **access)
        case "store", True:
            return english("stored by thread {thread} of block {block} at line {line}", **access)
        case _, False:
            return english("updated by thread {thread} at line {line}", **access)
    return english("updated by thread {thread} of block {block} at line {line}", **access)
