"""The types of elements and of constants that a recording knows."""

from __future__ import annotations

import numpy as np

DTYPES = {
    name: name
    for name in (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", "bool"),
    )
}
DTYPES |= {"boolean": "bool", "bool_": "bool", "intp": "int64", "uintp": "uint64", "byte": "uint8"}
DTYPES |= {np.dtype(name).str[1:]: name for name in DTYPES.values()}  # i4, f4, c8: Numba's short names

ConstantValue = int | float | bool | str  # a Numba dtype is held by its name: "float32"
