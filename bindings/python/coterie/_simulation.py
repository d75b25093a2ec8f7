"""Simulation: what came of a job that was simulated."""
from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._model import Model


@dataclass(frozen=True)
class SimulatedRound:
    """A round that is done. `loss` and `accuracy` are of its model, on what it is judged on; None: no finite number."""

    round: int
    attempt: int  # that succeeded; counted from 1
    loss: float | None
    accuracy: float | None
    train_loss: float | None  # as the devices met it
    train_accuracy: float | None
    selected: int  # devices that were drawn
    accepted: int  # updates that count
    examples: int
    seconds: float  # of virtual time
    train_seconds: float  # of real time, of all its devices together
    r2: float | None = None  # where the target is a number, in the place of both accuracies
    heads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by output: "loss", and "accuracy" or "mae"


@dataclass(frozen=True)
class Simulation:
    history: list[SimulatedRound]
    model: Model  # after the last round
    summary: dict[str, Any]  # what summary.json of a run has
    out: Path | None  # the folder of its files, if they were kept

    @property
    def accuracy(self) -> float:
        """Not a number where the target is one: `r2` has it then."""
        return float(self.summary.get("accuracy", "nan"))

    @property
    def accuracy_before(self) -> float:
        """Of the model that was given."""
        return float(self.summary.get("accuracy_before", "nan"))

    @property
    def r2(self) -> float | None:
        return _number(self.summary.get("r2"))

    @property
    def r2_before(self) -> float | None:
        return _number(self.summary.get("r2_before"))

    @property
    def loss(self) -> float | None:
        return _number(self.summary["loss"])

    @property
    def digest(self) -> str:
        """Of the model: two simulations have the same if, and only if, their models are the same bits."""
        return str(self.summary["model_digest"])

    def __repr__(self) -> str:
        score = f"R2 {self.r2:.3f}" if self.r2 is not None else f"accuracy {self.accuracy:.1%}"
        return f"<Simulation of {len(self.history)} rounds, {score}>"

    def plot(self, axes: Any = None) -> Any:
        """Accuracy, or R2, and loss over the rounds, by matplotlib: on the two `axes` that are given, or on new ones, which it
        returns. ImportError: matplotlib is not installed."""
        if axes is None:
            try:
                pyplot = importlib.import_module("matplotlib.pyplot")
            except ImportError:
                raise ImportError("plot() draws by matplotlib, which is not installed; out=FOLDER of simulate keeps a chart "
                                  "that needs none") from None
            axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")[1]
        left, right = axes
        numbers = [one.round for one in self.history]
        if "r2" in self.summary:
            left.plot([0, *numbers], _gaps([self.r2_before, *(one.r2 for one in self.history)]))
            left.set_title("R2 on held-out examples")
        else:
            left.plot([0, *numbers], _gaps([self.accuracy_before, *(one.accuracy for one in self.history)]))
            left.set_title("accuracy on held-out examples")
            left.set_ylim(0, 1)
        right.plot(numbers, _gaps([one.loss for one in self.history]), label="held-out")
        right.plot(numbers, _gaps([one.train_loss for one in self.history]), "--", label="training")
        right.set_title("loss")
        right.legend()
        for one in (left, right):
            one.set_xlabel("round")
        return axes


def round_of(event: Mapping[str, Any]) -> SimulatedRound:
    return SimulatedRound(
        round=int(event["round"]), attempt=int(event["attempt"]), loss=_number(event["evaluation_loss"]),
        accuracy=_number(event.get("evaluation_accuracy")), train_loss=_number(event["train_loss"]),
        train_accuracy=_number(event.get("train_accuracy")), selected=int(event["selected"]), accepted=int(event["accepted"]),
        examples=int(event["examples"]), seconds=float(event["seconds"] or 0), train_seconds=float(event["train_seconds"] or 0),
        r2=_number(event.get("evaluation_r2")),
        heads={head["output"]: {name: float(value) for name, value in head.items() if name != "output" and value is not None}
               for head in event.get("evaluation_heads", ())})


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _gaps(values: list[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
