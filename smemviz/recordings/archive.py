"""A zip of named members that is safe to read from anywhere: what it declares is checked before memory is given to it.

Writing is deterministic: the same members always give the same bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError

_END_RECORD = 22  # bytes of a zip's end record when the zip has no comment
_ZIP64_LOCATOR = 20
_MAX_DIRECTORY = 8192
_CHUNK = 1 << 20
_LEVEL = 1  # of deflate: for addresses as small as 6, and seven times as fast
_NPY_MAGIC = b"\x93NUMPY\x01\x00"
_NPY_HEADER = re.compile(rb"\{'descr': '([^']+)', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n")
_MAX_NPY_HEADER = 1000  # NumPy writes 118


def replaceable(path: Path) -> Path:
    """Return where a path leads, which is a regular file or nothing yet; root could replace a device.

    Raises:
        OSError: when it is anything else.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISLNK(mode):  # realpath leaves a circle of links alone
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file; name another")
    return target


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to that takes the place of ``path`` when it is complete, and goes when it is not.

    Of a symlink, what it points at is replaced. A device, a pipe or a folder is left as it is.

    Raises:
        OSError: when the file cannot be written.
    """
    target = replaceable(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Give the same path for a result that somebody named.

    Raises:
        InputError: when the file cannot be written.
    """
    try:
        with replacing(Path(path)) as partial:
            yield partial
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def write_members(target: Path | BinaryIO, members: Mapping[str, bytes]) -> None:
    """Write a zip to a file."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)  # dated 1980, whatever today is
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # whatever this system is
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, compresslevel=_LEVEL)


@contextlib.contextmanager
def open_archive(file: BinaryIO) -> Iterator[Archive]:
    """Open a zip for reading.

    Raises:
        ValueError: from here and from every method, when the zip is not what it has to be.
    """
    _check_directory_size(file)
    try:
        with zipfile.ZipFile(file) as archive:
            yield Archive(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"it is damaged ({error or 'unexpected end'})") from None


class Archive:
    """The members of an open zip, each of which is read once and only up to a size given beforehand."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        infos = archive.infolist()
        self._archive = archive
        self._infos = {info.filename: info for info in infos}
        if len(self._infos) != len(infos):
            raise ValueError("two of its members have the same name")
        for info in infos:
            if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"its member {info.filename!r} is encrypted or compressed in another way")

    @property
    def names(self) -> set[str]:
        """The names of all members."""
        return set(self._infos)

    def read(self, name: str, limit: int) -> bytearray:
        """Return the content of a member of at most ``limit`` bytes."""
        size = self._infos[name].file_size
        if size > limit:
            raise ValueError(f"its member {name} declares {size} bytes; {limit} are allowed")
        content = bytearray(size)
        with self._archive.open(self._infos[name]) as member:
            _fill(memoryview(content), member, name)
        return content

    def read_array(self, name: str, shape: tuple[int, ...], dtypes: tuple[str, ...]) -> NDArray[Any]:
        """Return a ``.npy`` member, which must have this shape and one of these dtypes (``"<i4"``)."""
        with self._archive.open(self._infos[name]) as member:
            start = member.read(len(_NPY_MAGIC) + 2)
            length = int.from_bytes(start[-2:], "little")
            if not start.startswith(_NPY_MAGIC) or length > _MAX_NPY_HEADER:
                raise ValueError(f"its member {name} is not a NumPy array of format 1.0")
            header = _NPY_HEADER.fullmatch(member.read(length))
            if header is None:
                raise ValueError(f"its member {name} has a header that NumPy does not write")
            dtype = header[1].decode("ascii", "replace")
            if dtype not in dtypes:
                raise ValueError(f"its member {name} has dtype {dtype}; {' or '.join(dtypes)} is allowed")
            declared = tuple(int(n) for n in header[2].split(b",") if n.strip())
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            if declared != shape or self._infos[name].file_size != len(start) + length + size:
                raise ValueError(f"its member {name} has shape {declared}; {shape} is needed")
            array = np.empty(shape, dtype)
            _fill(array.reshape(-1).view(np.uint8).data, member, name)
        return array


def _check_directory_size(file: BinaryIO) -> None:
    """Refuse a zip whose directory is larger than a recording's; ``zipfile`` would read all of it."""
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        raise ValueError("it is empty")
    file.seek(max(0, size - _END_RECORD - _ZIP64_LOCATOR))
    locator, end = (tail := file.read())[:-_END_RECORD], tail[-_END_RECORD:]
    if len(end) < _END_RECORD or not end.startswith(b"PK\5\6"):
        raise ValueError("it is cut short, or was never a zip archive")
    if int.from_bytes(end[12:16], "little") > _MAX_DIRECTORY or locator.startswith(b"PK\6\7"):
        raise ValueError("its zip directory is larger than a recording's")


def _fill(target: memoryview, member: Any, name: str) -> None:
    """Read exactly ``len(target)`` bytes, piece by piece, so that nothing larger is ever inflated."""
    position = 0
    while position < len(target):
        piece = member.read(min(_CHUNK, len(target) - position))
        if not piece:
            raise ValueError(f"its member {name} is shorter than it declares")
        target[position : position + len(piece)] = piece
        position += len(piece)
