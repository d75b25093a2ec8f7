"""CsvEncoding: how the columns of a table become numbers: the rules of `csv:` on the command line (tools/data/csv.h)."""
from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import Sequence

import numpy as np

from ._arrays import Array
from ._text import StrPath

CATEGORIES_MAX = 1000
_Rows = list[tuple[int, list[str]]]  # with the number of the line


@dataclass(frozen=True)
class Column:
    """For numbers: what is subtracted, and what is then divided by. For categories: the texts, in order."""

    name: str
    mean: float = 0.0
    deviation: float = 1.0
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True)
class CsvEncoding:
    """What a table was fitted to. Applied to another one, the same text becomes the same number."""

    columns: tuple[Column, ...]
    target: str
    classes: tuple[str, ...] | None  # None: the target is a number

    @classmethod
    def read(cls, path: StrPath, target: str, *, regression: bool = False,
             encoding: CsvEncoding | None = None) -> tuple[CsvEncoding, Array, Array]:
        """The encoding, the inputs and the targets. ValueError."""
        names, rows = _table(path)
        if target not in names:
            raise ValueError(f"{path}: there is no column {target!r}; there are {', '.join(names)}")
        if len(names) == 1:
            raise ValueError(f"{path}: there is nothing but the target")
        if encoding is None:
            encoding = cls._fit(path, names, rows, target, regression)
        elif encoding.target != target or regression != (encoding.classes is None):
            raise ValueError(f"{path}: the encoding is of another target")
        blocks = []
        for column in encoding.columns:
            if column.name not in names:
                raise ValueError(f"{path}: there is no column {column.name!r}, which the encoding has")
            blocks.append(_encode(path, rows, names.index(column.name), column))
        place = names.index(target)
        if encoding.classes is None:
            targets: Array = _numbers(path, rows, place, target).astype(np.float32)
        else:
            targets = _indices(path, rows, place, target, encoding.classes).astype(np.int32)
        return encoding, np.hstack(blocks).astype(np.float32), targets

    @classmethod
    def _fit(cls, path: StrPath, names: Sequence[str], rows: _Rows, target: str, regression: bool) -> CsvEncoding:
        columns = []
        for place, name in enumerate(names):
            if name == target:
                continue
            if _is_numeric(rows, place):
                values = _numbers(path, rows, place, name)
                columns.append(Column(name, float(values.mean()), float(values.std()) or 1.0))
            else:
                columns.append(Column(name, categories=_categories(path, rows, place, name)))
        place = names.index(target)
        return cls(tuple(columns), target, None if regression else _categories(path, rows, place, target))


def _table(path: StrPath) -> tuple[list[str], _Rows]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True, skipinitialspace=True)
        try:
            rows = [(reader.line_num, [field.strip() for field in row]) for row in reader if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: line {reader.line_num}: {error}") from None
    if len(rows) < 2:
        raise ValueError(f"{path}: there are no rows behind the header")
    names = rows[0][1]
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: two columns have the same name")
    for line, row in rows[1:]:
        if len(row) != len(names):
            raise ValueError(f"{path}: line {line} has {len(row)} fields, the header {len(names)}")
    return names, rows[1:]


def _number(field: str) -> float | None:
    try:
        value = float(field) if "_" not in field else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _is_numeric(rows: _Rows, place: int) -> bool:
    fields = [row[place] for _, row in rows]
    return any(fields) and all(not field or _number(field) is not None for field in fields)


def _numbers(path: StrPath, rows: _Rows, place: int, name: str) -> Array:
    values = np.empty((len(rows), 1))
    for i, (line, row) in enumerate(rows):
        value = _number(row[place])
        if value is None:
            raise ValueError(f"{path}: line {line}, column {name!r}: {row[place]!r} is no number")
        values[i] = value
    return values


def _categories(path: StrPath, rows: _Rows, place: int, name: str) -> tuple[str, ...]:
    texts = {row[place] for _, row in rows}
    if len(texts) > CATEGORIES_MAX:
        raise ValueError(f"{path}: column {name!r} has {len(texts)} different texts, at most {CATEGORIES_MAX} are "
                         "categories")
    if all(_number(text) is not None for text in texts):
        return tuple(sorted(texts, key=lambda text: (float(text), text)))
    return tuple(sorted(texts, key=lambda text: text.encode()))


def _indices(path: StrPath, rows: _Rows, place: int, name: str, texts: Sequence[str]) -> Array:
    known = {text: i for i, text in enumerate(texts)}
    for line, row in rows:
        if row[place] not in known:
            raise ValueError(f"{path}: line {line}, column {name!r}: the encoding does not know {row[place]!r}")
    return np.array([known[row[place]] for _, row in rows])


def _encode(path: StrPath, rows: _Rows, place: int, column: Column) -> Array:
    if column.categories is None:
        return (_numbers(path, rows, place, column.name) - column.mean) / column.deviation
    return np.eye(len(column.categories))[_indices(path, rows, place, column.name, column.categories)]
