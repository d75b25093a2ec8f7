"""CsvEncoding: how the columns of a table become numbers: the rules of `csv:` on the command line (tools/data/csv.h)."""
from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import Optional, Sequence, cast

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


Classes = Optional[tuple[str, ...]]  # of a target; None: it is a number


@dataclass(frozen=True)
class CsvEncoding:
    """What a table was fitted to. Applied to another one, the same text becomes the same number. Of several targets,
    `target` and `classes` have one entry each, in their order."""

    columns: tuple[Column, ...]
    target: str | tuple[str, ...]
    classes: Classes | tuple[Classes, ...]

    @classmethod
    def read(cls, path: StrPath, target: str | Sequence[str], *, regression: bool | Sequence[bool] = False,
             encoding: CsvEncoding | None = None) -> tuple[CsvEncoding, Array, Array]:
        """The encoding, the inputs and the targets. ValueError."""
        wanted = _wanted(target, regression)
        names, rows = _table(path)
        for name in wanted:
            if name not in names:
                raise ValueError(f"{path}: there is no column {name!r}; there are {', '.join(names)}")
        if len(names) == len(wanted):
            raise ValueError(f"{path}: there is nothing but the target" + ("s" if len(wanted) > 1 else ""))
        if encoding is None:
            encoding = cls._fit(path, names, rows, target, wanted)
        elif encoding._wanted() != list(wanted.items()) or isinstance(encoding.target, str) != isinstance(target, str):
            raise ValueError(f"{path}: the encoding is of another target")
        blocks = []
        for column in encoding.columns:
            if column.name not in names:
                raise ValueError(f"{path}: there is no column {column.name!r}, which the encoding has")
            blocks.append(_encode(path, rows, names.index(column.name), column))
        targets = [_target(path, rows, names.index(name), name, classes) for name, classes in encoding._targets().items()]
        if len(targets) == 1:
            return encoding, np.hstack(blocks).astype(np.float32), targets[0]
        # A row has one type: classes beside numbers are whole numbers in float32.
        kind = np.float32 if any(classes is None for classes in encoding._targets().values()) else np.int32
        together = np.hstack([one.reshape(-1, 1) for one in targets]).astype(kind)
        return encoding, np.hstack(blocks).astype(np.float32), together

    def _targets(self) -> dict[str, Classes]:
        if isinstance(self.target, str):
            return {self.target: cast(Classes, self.classes)}
        return dict(zip(self.target, cast("tuple[Classes, ...]", self.classes)))

    def _wanted(self) -> list[tuple[str, bool]]:
        return [(name, classes is None) for name, classes in self._targets().items()]

    @classmethod
    def _fit(cls, path: StrPath, names: Sequence[str], rows: _Rows, target: str | Sequence[str],
             wanted: dict[str, bool]) -> CsvEncoding:
        columns = []
        for place, name in enumerate(names):
            if name in wanted:
                continue
            if _is_numeric(rows, place):
                values = _numbers(path, rows, place, name)
                columns.append(Column(name, float(values.mean()), float(values.std()) or 1.0))
            else:
                columns.append(Column(name, categories=_categories(path, rows, place, name)))
        classes = tuple(None if is_number else _categories(path, rows, names.index(name), name)
                        for name, is_number in wanted.items())
        if isinstance(target, str):
            return cls(tuple(columns), target, classes[0])
        return cls(tuple(columns), tuple(target), classes)


def _wanted(target: str | Sequence[str], regression: bool | Sequence[bool]) -> dict[str, bool]:
    """The targets in order, and whether each is a number."""
    names = [target] if isinstance(target, str) else list(target)
    if not names or len(set(names)) != len(names):
        raise ValueError(f"the targets must be different columns, at least one: {', '.join(names) or 'there is none'}")
    numbers = list(regression) if isinstance(regression, Sequence) else [regression] * len(names)
    if len(numbers) != len(names):
        raise ValueError(f"regression has {len(numbers)} entries, the targets are {', '.join(names)}: one for each, or one "
                         "for all")
    return dict(zip(names, map(bool, numbers)))


def _target(path: StrPath, rows: _Rows, place: int, name: str, classes: Classes) -> Array:
    if classes is None:
        return _numbers(path, rows, place, name).astype(np.float32)
    return _indices(path, rows, place, name, classes).astype(np.int32)


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
