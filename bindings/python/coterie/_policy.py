"""Policy: what a device asks of rounds before it trains in them."""
from __future__ import annotations

import enum
import math
from dataclasses import dataclass, fields
from typing import Any

from . import _structs
from ._options import MAX, number, whole


class SecurityLevel(enum.IntEnum):
    """Who may learn what of an update; each promises what those before it do."""

    NONE = 0  # the server sees the update
    MASKED = 1  # the sum alone, if it follows the protocol
    ACTIVE = 2  # the sum alone, also if it lies
    ACTIVE_DP = 3  # the sum with noise of the devices


@dataclass(frozen=True)
class Policy:
    """coterie_policy: the least that a plan must promise. What is left alone has the default that docs/SDK.md lists, which
    is the careful one: level ACTIVE, sums of at least 20 devices, one sum of a model. SecurityLevel.NONE has to be said."""

    security_level_min: SecurityLevel | None = None
    cohort_min: int = 0
    epsilon_round_max: float = 0
    epsilon_total_max: float = 0  # math.inf: any
    delta_max: float = 0
    separation_min: int = 0
    corrupt_share_min: float = 0
    attempts_max: int = 0
    openings_max: int = 0
    accepts_analytics: bool = False

    def _struct(self) -> _structs.Policy:
        members: dict[str, Any] = dict(_structs.Policy._fields_)
        struct = _structs.Policy()
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "security_level_min":
                if value is not None:
                    struct.security_level_min = SecurityLevel(value)
                    struct.accepts_none = SecurityLevel(value) == SecurityLevel.NONE
            elif field.name == "accepts_analytics":
                struct.accepts_analytics = 1 if value else 0
            elif members[field.name] in MAX:
                setattr(struct, field.name, whole(value, field.name, MAX[members[field.name]]))
            else:
                limit = number(value, field.name)
                if math.isnan(limit) or limit < 0:
                    raise ValueError(f"{field.name} must be at least 0, is {limit}")
                setattr(struct, field.name, limit)
        return struct
