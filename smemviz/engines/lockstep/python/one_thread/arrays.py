"""Arrays whose elements the text of a loop loads and stores, and how it gets to them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import LocalPieces, View
from smemviz.engines.lockstep.memory.records import field_view
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Atom
from smemviz.engines.lockstep.python.one_thread.values import is_known
from smemviz.engines.lockstep.values.typing import Dtype

_MOST_CELLS = 8  # of an element, each of which has an owner


@dataclass(frozen=True)
class Access:
    """An access in the text of a loop, by its number there: the array's name, its type and how many axes it has.

    One that ``is_by_index`` is noted by its index and not by its place. Those of the same ``update`` are atomics that
    several threads may do to one element in any order. In an array of records, and of complex numbers, it is to a
    ``field``, whose type it has; where that is loaded and stored byte by byte it is to one ``byte`` of that.
    """

    name: str
    dtype: Dtype
    axes: int
    number: int
    is_by_index: bool
    update: str = ""
    field: str = ""
    byte: int | None = None

    @property
    def width(self) -> int:
        """How many bytes it loads or stores."""
        return self.dtype.itemsize if self.byte is None else 1


@dataclass(frozen=True)
class Layout:
    """How the text of a loop gets to the elements of an array, or of a row or slice of one: all of it are texts.

    ``start`` is the place of its first element, empty where that is 0, a stride is empty where it is 1, and ``view`` is
    the array as the interpreter knows it. ``access`` says which memory it is.
    """

    access: Access
    start: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]
    view: str


@dataclass(frozen=True)
class Array:
    """An array that a name stands for throughout a loop; a row or slice that a function is given has its ``layout``.

    ``unit`` tells that elements along the last axis follow each other, ``first`` that its element 0 is its memory's.
    An element has so many ``cells`` that have owners. It may be the array of a ``field`` of all elements of another.
    """

    dtype: Dtype
    axes: int
    space: str
    way: str
    unit: bool
    first: bool
    cells: int = 1
    field: str = ""
    layout: Layout | None = None

    @property
    def in_a_row(self) -> bool:
        """Whether its elements follow each other, and an index says where one is."""
        return self.axes == 1 and self.unit


@dataclass(frozen=True)
class Made:
    """An array that is made before a loop, in a frame, and the name of its variable."""

    frame: Frame
    node: ast.expr
    name: str


@dataclass(frozen=True)
class Record:
    """A record of an array: the subscript that names it, the array by its variable, one like it, and the indices."""

    of: ast.Subscript
    name: str
    array: Array
    view: View
    indices: Sequence[ast.expr | Atom]


def way_to(machine: Machine, view: View) -> str:
    """Return how elements of an array are reached: "free", "owned" after a look at who touched them, or "far".

    Of an array of records that is how its fields may be.
    """
    is_record = view.dtype.fields is not None
    if (
        not (is_record or is_known(view.dtype))
        or view.valid is not None
        or isinstance(view.memory, LocalPieces)
        or not _is_near(view)
    ):
        return "far"
    watched = machine.in_global.watched.get(view.memory)
    if watched is None or is_only_thread(machine):
        return "free"
    return "owned" if is_record or 1 <= view.dtype.itemsize / watched.nbytes <= _MOST_CELLS else "far"


def cells_in(machine: Machine, view: View) -> int:
    """Return in how many cells that have owners an element lies."""
    watched = machine.in_global.watched.get(view.memory)
    return 1 if watched is None else max(1, view.dtype.itemsize // watched.nbytes)


def _is_near(view: View) -> bool:
    return all(np.max(size) <= NEAR[1] for size in view.shape)


def named_in(views: Mapping[str, View], access: Access) -> View:
    """Return the array that an access is to, or that of its field."""
    view = views[access.name]
    part = field_view(view, access.field) if access.field else view
    assert part is not None
    return part


def is_same_for_all(view: View) -> bool:
    """Tell whether an array is the same one in all threads."""
    one_place = isinstance(view.memory.place(view.offset, view.dtype), int)
    return one_place and all(isinstance(size, int) for size in view.shape)


def is_only_thread(machine: Machine) -> bool:
    """Tell whether a launch has one thread, which races with nobody."""
    return math.prod(machine.configuration.grid) * math.prod(machine.configuration.block) == 1
