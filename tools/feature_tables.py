"""The page about what lockstep executes: lists of names short enough to be read."""

import re
from collections.abc import Callable, Iterable
from itertools import groupby

from smemviz.engines.lockstep.coverage import Row, ptx_rows, python_rows

_INTRO = (
    "`smemviz features` prints the same, and `--json` as data. The tests run an example of each row. In lists, "
    "`add_{rd,rn}` stands for `add_rd` and `add_rn`, and `acos[f]` for `acos` and `acosf`."
)
_PTX = (
    "CUDA C++, Triton and the kernels of CuPy, cuda.core and PyCUDA are executed as the PTX that the compiler makes of "
    "them. These are its instructions."
)
_LONG = 60  # with more names, a group has a row for each first letter
_VARIANT = re.compile(r"(.+_)(r[dnuz])|(.+)([1-4])|(.+\.)([xyz])")
_WHOLE = ("1", "2", "3", "4")  # the lengths of a vector type; log2 has none


def features(table: Callable[[tuple[str, ...], list[tuple[str, ...]]], str], cell: Callable[[str], str]) -> str:
    """Write what lockstep executes of CUDA; ``table`` and ``cell`` write Markdown."""
    python, ptx = python_rows(), ptx_rows()
    rows = [*python, *ptx]
    parts = ["# What lockstep executes", _INTRO, "## Python kernels"]
    for group, names in _by_group(python):
        parts.append(f"### {group}" if names[0].startswith(f"{group}.") else f"### {group[0].upper()}{group[1:]}")
        if group == "language":
            parts.append("\n".join(f"- {cell(name)}" for name in names))
            continue
        prefix, short = _without_prefix(names)
        found = shortened(short)
        if prefix:
            parts.append(f"All begin with `{prefix}`.")
        if len(names) > _LONG:
            letters = groupby(found, key=lambda name: name[0])
            parts.append(table(("", "names"), [(letter, _listed(several)) for letter, several in letters]))
        else:
            parts.append(_listed(found))
    instructions = [(group.removeprefix("PTX: "), _listed(names)) for group, names in _by_group(ptx)]
    otherwise = [(row.feature, cell(row.otherwise)) for row in rows if row.otherwise]
    refused = [(row.feature, cell(row.says)) for row in rows if not row.executed]
    return "\n\n".join(
        [
            *parts,
            "## CUDA C++ and Triton",
            _PTX,
            table(("what", "instructions"), instructions),
            "## A GPU may count differently",
            "These are executed. A GPU may split their requests in another way.",
            table(("feature", "how lockstep counts"), otherwise),
            "## Refused",
            table(("feature", "message"), refused),
        ]
    )


def _by_group(rows: Iterable[Row]) -> list[tuple[str, list[str]]]:
    plain = [row for row in rows if row.executed and not row.otherwise]
    return [
        (group, [row.feature for row in plain if row.group == group])
        for group in dict.fromkeys(row.group for row in plain)
    ]


def _without_prefix(names: list[str]) -> tuple[str, list[str]]:
    prefixes = {name.rpartition(".")[0] for name in names}
    shortest = min(prefixes, key=len)
    if not shortest or not all(prefix.startswith(shortest) for prefix in prefixes):
        return "", names
    return f"{shortest}.", [name.removeprefix(f"{shortest}.") for name in names]


def shortened(names: list[str]) -> list[str]:
    """Return fewer names: those that differ in rounding, length or axis as one, and a name with its ``f`` variant."""
    families: dict[str, list[str]] = {}
    for name in names:
        if variant := _VARIANT.fullmatch(name):
            stem, ending = filter(None, variant.groups())
            families.setdefault(stem, []).append(ending)
    families = {
        stem: endings
        for stem, endings in families.items()
        if len(endings) > 1 and (tuple(endings) == _WHOLE or endings[0] not in _WHOLE)
    }
    member_of = {f"{stem}{ending}": stem for stem, endings in families.items() for ending in endings}
    plain = {name for name in names if name not in member_of}
    found: dict[str, None] = {}
    for name in names:
        if stem := member_of.get(name):
            found[f"{stem}{{{','.join(families[stem])}}}"] = None
        elif not (name.endswith("f") and name[:-1] in plain):
            found[f"{name}[f]" if f"{name}f" in plain else name] = None
    return list(found)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
