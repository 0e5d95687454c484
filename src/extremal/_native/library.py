"""The library made of the C sources in this folder, loaded through ctypes when something first needs it.

Installing builds it; in a source tree `python tools/build_native.py` does. Nothing is ever compiled at run time.
ctypes releases the interpreter lock during calls, so Python threads run them in parallel.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..errors import InstallationError
from .sources import FOLDER, LIBRARY, source_digest

REMEDY = "reinstall extremal, or in a source tree run: python tools/build_native.py"

NUMBERS = {
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"typedef struct \{([^{}]*)\} (\w+);")
FUNCTION = re.compile(r"EXPORT int64_t (\w+)\(([^()]*)\) \{")
DECLARED = re.compile(r"(?:const )?(\w+) (.+)", re.DOTALL)  # the type, then one name or several


class Address(ctypes.c_void_p):
    """Where an array's elements lie: the array lives as long as this does."""

    def __init__(self, array: NDArray[np.generic]) -> None:
        super().__init__(array.ctypes.data)
        self.array = array


class Record(ctypes.Structure):
    """A struct for compiled code: the arrays whose addresses it was given live as long as it does."""

    __slots__ = ("given",)  # and no other attributes but its fields

    def __init__(self, **fields: Address | Record | float | None) -> None:
        super().__init__(**fields)
        self.given = fields


@cache
def declarations() -> tuple[dict[str, type[Record]], dict[str, list[type]]]:
    """What C declares: the structs that exported functions are given, and the parameters of these functions."""
    header, *sources = (
        COMMENT.sub("", path.read_text(encoding="utf-8"))
        for path in [FOLDER / "native.h", *sorted(FOLDER.glob("*.c"))]
    )
    records: dict[str, type[Record]] = {}
    functions: dict[str, list[type]] = {}
    for source in sources:
        bodies = {name: body for body, name in STRUCT.findall(header + source)}

        def kind(declared: str, name: str, bodies: dict[str, str] = bodies) -> type:
            if "*" not in name:
                return NUMBERS[declared]
            if declared not in bodies or declared == "queued":  # an array
                return ctypes.c_void_p
            if declared not in records:
                fields = [(n.strip(" *\n"), kind(t, n)) for t, n in _declared(bodies[declared].split(";"))]
                records[declared] = type(declared, (Record,), {"_fields_": fields, "__slots__": ()})
            return ctypes.POINTER(records[declared])

        for name, parameters in FUNCTION.findall(source):
            functions[name] = [kind(*one) for one in _declared(parameters.split(","))]
    return records, functions


def _declared(statements: list[str]) -> list[tuple[str, str]]:
    """Type and name of each variable, a pointer's with its star."""
    found = [DECLARED.fullmatch(statement.strip()) for statement in statements]
    return [(one[1], name) for one in found if one for name in one[2].split(",")]


def record(name: str, **fields: Address | Record | float | None) -> Record:
    """A struct of the C sources; fields that are not given are 0."""
    return declarations()[0][name](**fields)


@cache
def library() -> ctypes.CDLL:
    """The compiled functions, declared; an InstallationError if there are none that fit these sources."""
    if not LIBRARY.exists():
        raise _unusable(f"is missing: {LIBRARY}")
    try:
        loaded = ctypes.CDLL(str(LIBRARY))
        loaded.extremal_source_digest.restype = ctypes.c_char_p
        made_of = loaded.extremal_source_digest().decode()
    except (OSError, AttributeError) as error:
        raise _unusable(f"cannot be loaded: {str(error)[:200]}") from None
    if made_of != source_digest():
        raise _unusable("was built from other sources")
    for name, parameters in declarations()[1].items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = parameters, ctypes.c_int64
    return loaded


def _unusable(why: str) -> InstallationError:
    return InstallationError(f"the compiled part of extremal {why}", remedy=REMEDY)


def reads(array: ArrayLike, dtype: DTypeLike, *shape: int) -> Address:
    """Where compiled code reads an array's numbers: in the array, or in a copy if they lie otherwise than C wants."""
    array = np.asarray(array)
    flags = array.flags
    if array.dtype != dtype or not (flags.c_contiguous and flags.aligned):
        if not np.can_cast(array.dtype, dtype, "safe"):
            raise ValueError(_wanted(array, dtype, shape))
        array = np.require(array, dtype, ["C", "A"])
    if array.shape != shape:
        raise ValueError(_wanted(array, dtype, shape))
    return Address(array)


def writes(array: NDArray[np.generic], dtype: DTypeLike, *shape: int) -> Address:
    """Where compiled code changes an array: it must be contiguous, aligned and writeable, for it is not copied."""
    flags = array.flags
    if array.dtype != dtype or array.shape != shape or not (flags.c_contiguous and flags.behaved):
        raise ValueError(_wanted(array, f"{np.dtype(dtype)}, contiguous and writeable,", shape))
    return Address(array)


def _wanted(array: NDArray[np.generic], what: object, shape: tuple[int, ...]) -> str:
    return f"compiled code needs an array of {what} and shape {shape}, got {array.dtype} and {array.shape}"
