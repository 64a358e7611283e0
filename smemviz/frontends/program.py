"""A kernel file as data, in whatever language: its text, its constants and its kernels."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from smemviz.errors import ConstantError, InputError
from smemviz.frontends.knobs import Constant, parse_value
from smemviz.languages import Language, View
from smemviz.messages import english
from smemviz.recordings.vocabulary import ConstantValue


@dataclass(frozen=True)
class Program(ABC):
    """A kernel file with values for its constants.

    ``kernels`` are its kernels by name, each as its language has them. ``overrides`` are the constants that differ from
    the source. What is not ``trusted`` came from a browser or in a recording, and is not executed. ``view`` tells
    whether its accesses are counted as they are written, or as the compiler leaves them.
    """

    language: ClassVar[Language]

    file: str
    source: str
    constants: Mapping[str, Constant]
    kernels: Mapping[str, Any] = field(repr=False)
    overrides: Mapping[str, ConstantValue] = field(default_factory=dict, kw_only=True)
    trusted: bool = field(default=True, kw_only=True)
    view: View = field(default="source", kw_only=True)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the source, as hexadecimal."""
        return source_sha256(self.source)

    @property
    def values(self) -> dict[str, ConstantValue]:
        """The value of every constant, overrides and what follows from them included."""
        return {name: constant.value for name, constant in self.constants.items()}

    def with_constants(self, values: Mapping[str, object]) -> Self:
        """Return the program with constants replaced; text is read as on the command line (``"2"``, ``"float32"``).

        Raises:
            ConstantError: for a name the file does not have, or a value of another kind.
        """
        if not values:
            return self
        own = self._constants({}) if self.overrides else self.constants
        overrides = dict(self.overrides)
        for name, value in values.items():
            if name not in self.constants:
                known = ", ".join(self.constants) or "none"
                raise ConstantError(
                    self.file, 1, english("there is no constant {name}; the file has: {known}", name=name, known=known)
                )
            constant = self.constants[name]
            overrides[name] = parse_value(self.file, constant, value)
            if not constant.depends and overrides[name] == own[name].value:
                del overrides[name]
        return replace(self, overrides=overrides, constants=self._constants(overrides))

    @abstractmethod
    def _constants(self, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
        """Read the constants, some of them given another value."""

    @property
    def variant(self) -> str:
        """What tells runs of the same file with the same constants apart."""
        return self.view if len(self.language.views) > 1 else ""

    def in_view(self, view: str | None) -> Self:
        """Return the program with its accesses counted in another view, None for the one that it has.

        Raises:
            InputError: when its language has no such view.
        """
        views = self.language.views
        if view is None:
            return self
        if view in views:
            return replace(self, view=view)
        if len(views) == 1:
            values = {"file": self.file, "language": self.language.title}
            raise InputError(english("{file} is {language}, which has one view only; leave out the view", **values))
        raise InputError(english("there is no view {view}; use source or compiled", view=repr(view)))

    def with_compiler(self, options: Sequence[str], folders: Sequence[str], before: Sequence[str]) -> Self:
        """Return the program as it is compiled with options, with more folders of headers, and headers read first.

        Raises:
            InputError: when its language has no such options.
        """
        raise InputError(f"{self.file}: -I, -D, -include and -std are for CUDA C++; name a file that ends in .cu")

    @property
    @abstractmethod
    def summary(self) -> str:
        """What the file says of itself, in its first paragraph."""

    @property
    @abstractmethod
    def has_main(self) -> bool:
        """Whether the file says what to launch."""

    @property
    def is_script(self) -> bool:
        """Whether it can only be run as a script."""
        return False

    @property
    @abstractmethod
    def texts(self) -> tuple[list[str], dict[str, str]]:
        """What the functions that kernels may call say, and what each kernel says, without comments."""

    @abstractmethod
    def heads(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Return the line of each kernel and the names of its parameters."""

    @abstractmethod
    def helper_hashes(self) -> tuple[tuple[str, str], ...]:
        """Return the path and the SHA-256 of every other file that a run depends on."""

    def forget(self, helpers: Iterable[str]) -> None:  # noqa: B027, for a language that keeps none
        """Let the next run read these other files anew."""


def source_sha256(source: str) -> str:
    """Hash a source text, line ends normalised so that a checkout on Windows hashes the same."""
    return hashlib.sha256(source.replace("\r\n", "\n").encode()).hexdigest()
