"""The texts of a program as its kernels need them: what they do not reach by name is the host's, and blank."""

import re
from collections.abc import Iterable, Mapping

from smemviz.frontends.cuda.text.declarations import Declaration, declarations, host_members, macros_of, specifiers_of
from smemviz.frontends.cuda.text.lexing import as_one_line, directives, scan

_NUMBERS_LINES = re.compile(r"#\s*(?:line\b|\d)")
_NAMESPACES = {"std", "cuda", "cooperative_groups", "cub", "nvcuda", "thrust"}  # of CUDA's headers
_NAME = re.compile(r"[A-Za-z_]\w*")
_NAMESPACE = re.compile(r"\bnamespace\s+(\w+)")


def device_texts(
    sources: Mapping[str, str], kernels: Iterable[str] = (), macros: Mapping[str, set[str]] | None = None
) -> dict[str, str]:
    """Return texts, by their names, with spaces in the place of what only the host uses; lines and columns stay.

    ``kernels`` are those wanted, as C++ writes them: arguments of templates may be what nothing else names. ``macros``
    are those of other texts too, if there are any.

    So have lines that say which line they are, after which the compiler would name others.
    """
    sources = {name: _without_line_numbers(source) for name, source in sources.items()}
    macros = macros_of(sources.values()) if macros is None else macros
    specifiers = specifiers_of(macros)
    found: dict[str, list[Declaration]] = {}
    for name, source in sources.items():
        sources[name] = _without(source, list(host_members(source, specifiers)))
        found[name] = list(declarations(sources[name], specifiers))
    everything = [declaration for declared in found.values() for declaration in declared]
    namespaces = _NAMESPACES | {name for source in sources.values() for name in _NAMESPACE.findall(source)}
    wanted = {name for kernel in kernels for name in _NAME.findall(kernel)}
    kept = _reached(everything, macros, namespaces, wanted)
    return {
        name: _without(source, [declaration for declaration in found[name] if id(declaration) not in kept])
        for name, source in sources.items()
    }


def _without_line_numbers(source: str) -> str:
    for token in directives(source):
        if _NUMBERS_LINES.match(as_one_line(token)):
            source = source[: token.start] + re.sub(r"[^\n]", " ", token.text) + source[token.end :]
    return source


def _reached(
    everything: list[Declaration], macros: Mapping[str, set[str]], namespaces: set[str], wanted: set[str]
) -> set[int]:
    """Return the ``id`` of each declaration that kernels reach, directly or not."""
    by_name: dict[str, list[Declaration]] = {}
    for declaration in everything:
        for name in declaration.names:
            by_name.setdefault(name, []).append(declaration)
    making = {name for name, words in macros.items() if "__global__" in words}
    waiting = [
        declared
        for declared in everything
        if _is_root(declared, making, namespaces) or (declared.kind != "host" and wanted & declared.names)
    ]
    kept = set(map(id, waiting))
    while waiting:
        for name in _with_macros(waiting.pop().uses, macros):
            for declared in by_name.get(name, ()):
                if id(declared) not in kept and declared.kind != "host":
                    kept.add(id(declared))
                    waiting.append(declared)
    return kept


def _is_root(declaration: Declaration, making: set[str], namespaces: set[str]) -> bool:
    words = declaration.words
    if words[:2] == ("using", "namespace"):
        return words[2] in namespaces and (words[2] != "std" or "::" not in words)
    is_operator = "operator" in words and declaration.kind == "device"  # no name shows that it is used
    return declaration.kind == "kernel" or is_operator or bool(making & declaration.uses)


def _with_macros(names: Iterable[str], macros: Mapping[str, set[str]]) -> set[str]:
    """Return names, and all that the macros among them stand for."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(macros.get(name, ()))
    return seen


def _without(source: str, dropped: list[Declaration]) -> str:
    for declaration in reversed(dropped):
        blank = _blank(source[declaration.start : declaration.end])
        source = source[: declaration.start] + blank + source[declaration.end :]
    return source


def _blank(part: str) -> str:
    """Return spaces for a text, in which directives stay."""
    if "#" not in part:
        return re.sub(r"[^\n]", " ", part)
    kept, at = "", 0
    for token in scan("\n" + part):
        if token.kind == "directive":
            kept += re.sub(r"[^\n]", " ", part[at : token.start - 1]) + token.text
            at = token.end - 1
    return kept + re.sub(r"[^\n]", " ", part[at:])
