"""The library made of the C sources in this folder, loaded through ctypes when something first needs it.

Installing builds it; in a source tree `python tools/build_native.py` does. Nothing is ever compiled at run time.
ctypes releases the interpreter lock during calls, so Python threads run them in parallel.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InstallationError
from .sources import LIBRARY, source_digest

REMEDY = "reinstall extremal, or in a source tree run: python tools/build_native.py"

ADDRESS, INT, LONG, WORD, REAL = (
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int64,
    ctypes.c_uint64,
    ctypes.c_double,
)


class Drawing(ctypes.Structure):
    """`drawing` in sampler.c."""

    _fields_ = (
        *((name, ADDRESS) for name in ("codes", "rows", "entries", "out")),
        *((name, LONG) for name in ("row_count", "table_rows")),
        *((name, ctypes.c_int32) for name in ("code_size", "out_size", "b", "width")),
    )


# The declarations in the C sources, in the same order; every result is an int64.
SIGNATURES: dict[str, list[Any]] = {
    "extremal_build": [ADDRESS, LONG, LONG, INT, ADDRESS, ADDRESS],
    "extremal_draw": [ADDRESS, ADDRESS, LONG, LONG],
    "extremal_widest": [],
    "extremal_search": [
        *(LONG, ADDRESS, ADDRESS, REAL, REAL, REAL, ADDRESS, LONG),
        *(REAL, LONG, LONG, LONG, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS),
    ],
    "extremal_neighbourhoods": [
        *(LONG, ADDRESS, ADDRESS, REAL, REAL, ADDRESS, LONG),
        *(LONG, LONG, LONG, WORD, ADDRESS, ADDRESS, ADDRESS),
    ],
    "extremal_lattice_fill": [LONG, ADDRESS, ADDRESS, LONG, ADDRESS, ADDRESS],
    "extremal_lattice_trace": [LONG, ADDRESS, ADDRESS, LONG, LONG, ADDRESS],
    "extremal_vertex_sets": [LONG, ADDRESS, REAL, ADDRESS, ADDRESS],
    "extremal_vertex_price": [
        *(LONG, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS),
        *(REAL, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS),
    ],
    "extremal_climb": [
        *(LONG, LONG, ADDRESS, REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS, LONG, LONG, ADDRESS),
    ],
    "extremal_herd_levels": [
        *(LONG, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, REAL, REAL, ADDRESS, ADDRESS),
        *(ADDRESS, ADDRESS, REAL, LONG, ADDRESS, ADDRESS),
    ],
    "extremal_bound_levels": [
        *(LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, REAL, REAL),
        *(LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, REAL),
        *(REAL, REAL, REAL, REAL, LONG, LONG, ADDRESS, LONG, ADDRESS, ADDRESS, REAL),
    ],
    "extremal_price_nested": [
        *(LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, REAL, REAL, ADDRESS, REAL, ADDRESS, LONG),
        *(LONG, ADDRESS, ADDRESS, REAL, REAL, REAL, LONG, LONG, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS),
    ],
    "extremal_rise_nested": [
        *(LONG, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS, REAL, REAL, ADDRESS, REAL, ADDRESS, LONG),
        *(REAL, LONG, ADDRESS, ADDRESS, ADDRESS),
    ],
    "extremal_fill": [LONG, LONG, ADDRESS, REAL, ADDRESS, ADDRESS],
    "extremal_number_texts": [ADDRESS, LONG, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS],
    "extremal_read_integers": [ADDRESS, LONG, LONG, ADDRESS, ADDRESS, ADDRESS, ADDRESS],
    "extremal_replace_fields": [
        *(ADDRESS, LONG, LONG, LONG, ADDRESS, ADDRESS, ADDRESS, LONG, LONG, ADDRESS, ADDRESS),
        *(ADDRESS, LONG),
    ],
    "extremal_tally": [ADDRESS, LONG, LONG, LONG, ADDRESS],
    "extremal_best_vertices": [
        LONG,
        ADDRESS,
        REAL,
        ADDRESS,
        ADDRESS,
        ADDRESS,
        LONG,
        LONG,
        LONG,
        ADDRESS,
        ADDRESS,
        ADDRESS,
    ],
}


@cache
def library() -> Any:
    """The compiled functions, declared; an InstallationError if there are none that fit these sources."""
    if not LIBRARY.exists():
        raise InstallationError(
            f"the compiled part of extremal is missing: {LIBRARY}",
            remedy=REMEDY,
        )
    try:
        loaded = ctypes.CDLL(str(LIBRARY))
        loaded.extremal_source_digest.restype = ctypes.c_char_p
        made_of = loaded.extremal_source_digest().decode()
    except (OSError, AttributeError) as error:
        raise InstallationError(
            f"the compiled part of extremal cannot be loaded: {str(error)[:200]}",
            remedy=REMEDY,
        ) from None
    if made_of != source_digest():
        raise InstallationError(
            "the compiled part of extremal was built from other sources",
            remedy=REMEDY,
        )
    for name, arguments in SIGNATURES.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, LONG
    return loaded


def address(array: NDArray[Any], dtype: Any, *shape: int) -> int:
    """Where the array's elements lie, if it is contiguous and of the given type and shape: C checks nothing."""
    if array.dtype != dtype or array.shape != shape or not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(
            f"compiled code needs a contiguous array of {np.dtype(dtype)} and shape {shape}, "
            f"got one of {array.dtype} and shape {array.shape}"
        )
    return int(array.ctypes.data)


def packed(array: Any, dtype: Any) -> NDArray[Any]:
    """The same numbers as compiled code takes them: contiguous, aligned and of the given type."""
    return np.require(array, dtype, ["C", "A"])
