"""simulate: a federated job over virtual devices, from arrays, by the program `coterie simulate`."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from ._dataset import Examples
from ._errors import Code, CoterieError, InvalidArgument
from ._model import Model
from ._options import whole
from ._program import find_program
from ._simulation import SimulatedRound, Simulation, round_of
from ._simulation_files import heads_of, job_of, shares_of, write_shares
from ._text import StrPath

OnRound = Callable[[SimulatedRound], object]
DEVICES = 20
CODES = {2: Code.INVALID_ARGUMENT, 5: Code.TIMED_OUT, 130: Code.CANCELLED}  # of the program's exit codes
PATIENCE_S = 30  # for a program that was asked to end


def simulate(model: Model, datasets: Union[Examples, Sequence[Examples]], *, split: str | None = None,
             devices: int | None = None, rounds: Union[int, Mapping[str, Any]] = 10, fraction: float = 1.0,
             security: str = "none", strategy: Union[str, Mapping[str, Any]] = "fedavg", seed: int = 1,
             evaluate_on: Examples | None = None, on_round: OnRound | None = None, dropout: float = 0.0,
             threads: int | None = None, out: StrPath | None = None, log_dir: StrPath | None = None,
             program: StrPath | None = None, **job: Any) -> Simulation:
    """Trains `model` in rounds of virtual devices, and returns what came of it; `model` stays as it is. Nothing listens, and
    nothing is sent: one process beside this one does it, with the code of server and devices. The same arguments give the
    same bits.

    `datasets`: a list with the examples of each device; or one data set, (inputs, targets), which `split` shares out to
    `devices` (20): "iid", "dirichlet:0.1", "shards:2", "quantity:0.5", "feature:noise", "feature:rotate",
    "labels:turned". Targets are
    classes; with `heads` those of all heads, one behind the other, as Model.train takes them.
    `evaluate_on`: what each round's model is judged on. Without it a fifth of each class is held out.
    `fraction`: of the devices, how many updates a round has. `dropout`: of the drawn devices, how many are lost.
    `job`: all other fields of a job, as Admin.create_job takes them: training={...}, update={...}, aggregation={...},
    privacy={...}; and by themselves those of training that are asked for most: local_epochs, batch_size, optimizer,
    learning_rate, momentum, proximal_mu; and heads: outputs with a loss each, as ["class:softmax_cross_entropy", "age:l1:0.5"].
    `rounds` and `strategy` may be such objects, too.
    `on_round` is called as each round ends; what it raises ends the simulation, and comes out of here.
    `out`: a new or empty folder for the files of the run (model, chart, metrics); otherwise they go. `log_dir`: where an event
    file for TensorBoard goes.
    `program`: the program `coterie`; otherwise $COTERIE_PROGRAM, or `coterie` on PATH.

    TypeError, ValueError: arguments, said before anything runs. FileNotFoundError: no program. CoterieError: what it says:
    INVALID_ARGUMENT, TIMED_OUT (a round failed in all its attempts), INTERNAL (among it a training that diverged)."""
    found = find_program(program, "jobs are simulated")
    shares = shares_of(model, datasets, split, devices, evaluate_on, DEVICES, len(heads_of(job)) > 0)
    text = job_of(shares.devices, rounds, fraction, security, strategy, job, shares.classes is None)
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is in [0, 1), is {dropout}")
    with tempfile.TemporaryDirectory(prefix="coterie-") as made:
        folder = Path(made)
        data, split_words = write_shares(shares, folder)
        model.save(folder / "model.cotf")
        (folder / "job.json").write_text(json.dumps(text, indent=1), encoding="utf-8")
        run = folder / "run" if out is None else Path(os.path.abspath(os.fspath(out)))
        words = [found, "simulate", "job.json", "--data", data, "--model", "model.cotf", *split_words,
                 "--devices", str(shares.devices), "--seed", str(whole(seed, "seed", 2**64 - 1)), "--dropout", repr(float(dropout)),
                 "--out", str(run), "--events", "--json", "--quiet"]
        if threads is not None:
            words += ["--threads", str(whole(threads, "threads", 1024))]
        if log_dir is not None:
            words += ["--log-dir", os.path.abspath(os.fspath(log_dir))]
        history, summary = _run(words, folder, on_round)
        return Simulation(history, Model.load(run / "model.cotf"), summary, None if out is None else run)


def _run(words: Sequence[str], folder: Path, on_round: OnRound | None) -> tuple[list[SimulatedRound], dict[str, Any]]:
    history: list[SimulatedRound] = []
    summary: dict[str, Any] = {}
    with open(folder / "errors.txt", "w+b") as errors:
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        try:
            for event in _events(process):
                if event.get("event") == "round_done":
                    history.append(round_of(event))
                    if on_round is not None:
                        on_round(history[-1])
                elif "event" not in event:
                    summary = event
            process.wait()
        finally:
            _end(process)
        if process.returncode == 0:
            return history, summary
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace").strip() or f"it ended with status {process.returncode}"
        code = CODES.get(process.returncode, Code.INTERNAL)
        raise (InvalidArgument if code == Code.INVALID_ARGUMENT else CoterieError)(code, said)


def _events(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def _end(process: subprocess.Popen[bytes]) -> None:
    """As ^C does: it leaves nothing behind."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
