"""What measures a kernel file on a GPU, by its language."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from smemviz.engines.options import Progress
from smemviz.engines.output_hashes import OutputHash
from smemviz.errors import InputError
from smemviz.frontends.program import Program
from smemviz.languages import loaded
from smemviz.messages import english

if TYPE_CHECKING:
    from smemviz.measure.time.meter import Timed


class LanguageMeter(Protocol):
    """What the module of a language does that its entry names as what measures it."""

    def time(
        self, program: Program, cold: bool = False, progress: Progress | None = None, kernels: Collection[str] = ()
    ) -> Timed:
        """Time every launch of a kernel file.

        Args:
            program: the kernel file.
            cold: let no launch find its arrays in L2: arguments take turns, or L2 is overwritten between launches.
            progress: called as ``progress(done, total, text)``.
            kernels: names of the kernels to time; none means every kernel.

        Raises:
            MissingError: when there is no GPU.
        """

    def outputs(self, program: Program, kernels: Collection[str]) -> tuple[OutputHash, ...]:
        """Hash what each launch of some kernels leaves in its arrays.

        Raises:
            MissingError: when there is no GPU.
        """

    def measure_products(self, program: Program, measure: Any) -> None:
        """Measure each launch that multiplies matrices with a ``sweep.launches.Measure``."""

    def run_clean(self, program: Program, folder: Path) -> None:
        """Make the launches under the profiler; a folder is for the source that a compiler saw."""

    def as_written(self, program: Program, kernels: Sequence[str], profiled: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return each ``ncu.counters.ProfiledLaunch`` with its instructions at the accesses of the text as written."""


def meter_of(program: Program) -> LanguageMeter:
    """Return what measures a kernel file.

    Raises:
        InputError: when its language is not measured.
    """
    if not program.language.meter:
        what = english("{file}: {language} is not measured", file=program.file, language=program.language.title)
        raise InputError(what)
    return cast(LanguageMeter, loaded(program.language.meter))
