"""The names that kernel files and recordings have in a URL, and which of them are the same in another language."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from smemviz.languages import LANGUAGES, is_kernel_file, language_of
from smemviz.paths import kernels_dir, plain_name

COMPILED = "@compiled"  # after the name of a file whose language has this view


def names_of(paths: Sequence[Path]) -> dict[str, Path]:
    """Name each file by its stem, with as many folders before it as tell it from the others."""
    names: dict[str, Path] = {}
    for path in paths:
        parts = path.resolve().parts
        stem = plain_name(path)
        name, depth = stem, 2
        while name in names and depth <= len(parts):
            name = "/".join((*parts[-depth:-1], stem))
            depth += 1
        names |= _views(name, path.resolve())
    return names


def in_other_languages(paths: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files in other languages that lie beside files of the gallery, which are the same kernels."""
    folder = kernels_dir().resolve()
    files: dict[str, Path] = {}
    for name, path in paths.items():
        if path.parent == folder and is_kernel_file(path) and not name.endswith(COMPILED):
            for language in LANGUAGES:
                other = path.with_suffix(language.suffixes[0])
                if other.is_file() and other not in paths.values():
                    files |= _views(name.removesuffix(plain_name(path)) + plain_name(other), other)
    return files


def beside(paths: Mapping[str, Path], name: str) -> list[str]:
    """Return the names of the files that lie beside one and are called like it, in other languages."""
    path = paths.get(name)
    return [
        other
        for other, twin in paths.items()
        if path and path != twin and path.with_suffix("") == twin.with_suffix("")
        if is_kernel_file(path) and is_kernel_file(twin) and not other.endswith(COMPILED)
    ]


def _views(name: str, path: Path) -> dict[str, Path]:
    """Return the names of a file, one for each view that its accesses can be counted in."""
    more = is_kernel_file(path) and "compiled" in language_of(path).views
    return {name: path, name + COMPILED: path} if more else {name: path}
