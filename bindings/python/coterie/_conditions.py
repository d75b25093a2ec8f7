"""Requirements and Conditions: what an app asks of its device, and what the device is like."""
from __future__ import annotations

import enum
import math
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from . import _structs
from ._options import MAX, number, whole

_Struct = TypeVar("_Struct", _structs.Requirements, _structs.Conditions)


class Thermal(enum.IntEnum):
    """How hot a device is."""

    UNKNOWN = 0
    NOMINAL = 1
    FAIR = 2
    SERIOUS = 3
    CRITICAL = 4


class Hold(enum.IntEnum):
    """What holds a client back."""

    NONE = 0
    IDLE = 1
    CHARGING = 2
    UNMETERED = 3
    FOREGROUND = 4
    BACKGROUND = 5
    BATTERY = 6
    THERMAL = 7
    FREE_MEMORY = 8
    CPU_BUDGET = 9
    UPLOAD_BUDGET = 10
    DOWNLOAD_BUDGET = 11
    ENERGY_BUDGET = 12
    UNKNOWN = -1

    @classmethod
    def _missing_(cls, value: object) -> Hold:
        return cls.UNKNOWN


@dataclass(frozen=True)
class Requirements:
    """coterie_requirements: what the device must be like before a client does anything, and what it may spend in a day of
    UTC. What is left alone is not asked for, and has no limit."""

    idle: bool = False
    charging: bool = False
    unmetered: bool = False
    foreground: bool = False
    background: bool = False
    battery_percent_min: int = 0
    thermal_max: Thermal = Thermal.UNKNOWN
    free_memory_bytes_min: int = 0
    cpu_seconds_per_day: float = 0
    upload_bytes_per_day: int = 0
    download_bytes_per_day: int = 0
    joules_per_day: float = 0
    watts: float = 0
    training_bytes_max: int = 0
    width_max: float = 0

    def _struct(self) -> _structs.Requirements:
        return _filled(_structs.Requirements(), self)


@dataclass(frozen=True)
class Conditions:
    """coterie_conditions: what the device is like now. None, and 0: unknown, which meets no requirement."""

    idle: bool | None = None
    charging: bool | None = None
    unmetered: bool | None = None
    foreground: bool | None = None
    battery_percent: int = 0
    thermal: Thermal = Thermal.UNKNOWN
    free_memory_bytes: int = 0

    def _struct(self) -> _structs.Conditions:
        struct = _filled(_structs.Conditions(), self)
        for name in ("idle", "charging", "unmetered", "foreground"):
            answer = getattr(self, name)
            setattr(struct, name, 0 if answer is None else 2 if answer else 1)
        return struct


def _filled(struct: _Struct, given: Requirements | Conditions) -> _Struct:
    members: dict[str, Any] = dict(struct._fields_)
    for field in fields(given):
        value = getattr(given, field.name)
        if value is None or isinstance(value, bool):
            setattr(struct, field.name, int(bool(value)))
        elif members[field.name] in MAX:
            setattr(struct, field.name, whole(value, field.name, MAX[members[field.name]]))
        else:
            amount = number(value, field.name)
            if not math.isfinite(amount) or amount < 0:
                raise ValueError(f"{field.name} must be finite and at least 0, is {amount}")
            setattr(struct, field.name, amount)
    return struct
