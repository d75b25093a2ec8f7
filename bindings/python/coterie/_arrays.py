"""NumPy arrays as the library reads them: float32 or int32, one example behind the other, every number finite."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def checked(values: Any, what: str) -> Array:
    """An array of numbers, as it is. TypeError: of anything else, or masked. ValueError: ragged."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array: fill it first, as what is masked would be read")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} is no array: {error}") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{what} has dtype {array.dtype}; numbers are wanted")
    return array


def as_floats(array: Array, what: str) -> Array:
    """float32, C order; a copy only where it is neither yet. ValueError: a number that is not finite as float32."""
    with np.errstate(over="ignore"):
        floats = np.ascontiguousarray(array, np.float32).reshape(array.shape)
    finite = np.isfinite(floats)
    if not finite.all():
        place = np.argwhere(~finite)[0]
        raise ValueError(f"{what} has {array[tuple(place)]} at {place.tolist()}: every number must be finite")
    return floats


def as_ints(array: Array, what: str) -> Array:
    """int32, C order. TypeError: no integers. ValueError: one out of range."""
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} has dtype {array.dtype}; integers are wanted")
    if array.size and (int(array.max()) > 2**31 - 1 or int(array.min()) < -(2**31)):
        raise ValueError(f"{what} has integers that are no int32")
    return np.ascontiguousarray(array, np.int32).reshape(array.shape)
