"""Client: a device that takes part in federated rounds."""
from __future__ import annotations

import ctypes
import enum
import weakref
from dataclasses import dataclass, fields
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _structs
from ._calls import guarded
from ._client_thread import ClientThread
from ._conditions import Conditions, Hold, Requirements
from ._dataset import Examples, dataset_of
from ._errors import Code
from ._handle import open_handle
from ._library import lib
from ._options import whole
from ._policy import Policy, SecurityLevel
from ._text import StrPath, path_bytes, text_bytes

if TYPE_CHECKING:
    from ._model import Model

U32, U64 = 2**32 - 1, 2**64 - 1


class Activity(enum.IntEnum):
    """What a step of a client did."""

    UNKNOWN = 0
    WAITING = 1
    ENROLLED = 2
    CHECKED_IN = 3
    FETCHED_PLAN = 4
    FETCHED_MODEL = 5
    TRAINED = 6
    UPLOADED = 7
    STOPPED = 8
    AGGREGATED = 9
    HELD = 10

    @classmethod
    def _missing_(cls, value: object) -> Activity:
        return cls.UNKNOWN


@dataclass(frozen=True)
class ClientProgress:
    """What one step did, and how it went: a status that is not OK is normal (the server is away), the client tries again.
    `text` then says what went wrong. This library repeats a failure with later steps, until a round is done."""

    activity: Activity
    status: Code
    text: str
    rounds_done: int
    training_steps: int
    training_examples: int
    training_loss: float
    hold: Hold = Hold.NONE
    validation_examples: int = 0  # held out by the round's plan
    validation_loss: float = 0.0  # their lowest mean loss so far
    stopped_early: bool = False


@dataclass(frozen=True)
class Refusal:
    """A plan that the policy refused: `reason` is a stable word, `text` one sentence; the rest is what the plan promised
    and what was spent so far."""

    reason: str
    text: str
    job: str
    round: int
    attempt: int
    cohort_min: int
    security_level: SecurityLevel
    epsilon_round: float
    delta: float
    epsilon_spent: float
    delta_spent: float


@dataclass(frozen=True)
class Identity:
    """The device's own key, which an authority certifies."""

    key_algorithm: str  # "ed25519" or "p256"
    public_key: bytes


OnProgress = Callable[[ClientProgress], Optional[bool]]
OnRefused = Callable[[Refusal], object]


class Client:
    """A device, on a state directory and a data set. start() has it take part on a thread of its own, on which the
    callbacks run, too; run() waits for that thread. What a callback or the data set raises ends the thread, and comes out
    of join() and run(). A client that was stopped can only be closed; a new one on the same directory goes on."""

    def __init__(self, dataset: Examples, *, state_dir: StrPath, server_url: str, enrollment_token: str | None = None,
                 ca_file: StrPath | None = None, policy: Policy | None = None, on_progress: OnProgress | None = None,
                 on_refused: OnRefused | None = None, use_p256: bool = False, seed: int = 0, train_ms_max: int = 0,
                 checkin_ms_max: int = 0, checkpoint_steps: int = 0, authority_key: bytes | None = None,
                 certificate: bytes | None = None, requirements: Requirements | None = None, group: int = 0):
        """The options are those of coterie_options (coterie.h). `on_progress` is called after every step and may return
        True to end. `enrollment_token` is needed until the device is enrolled. CoterieError: INVALID_ARGUMENT, NOT_FOUND
        (the CA file), CONFLICT (another client uses the directory), DATA_LOSS, PERMISSION_DENIED, STORAGE_FULL."""
        examples = dataset_of(dataset)
        refused = _structs.ON_REFUSED(0) if on_refused is None else _structs.ON_REFUSED(_refusing(on_refused))
        struct = _structs.Options(
            server_url=text_bytes(server_url, "server_url"), state_dir=path_bytes(state_dir),
            ca_file=None if ca_file is None else path_bytes(ca_file),
            enrollment_token=None if enrollment_token is None else text_bytes(enrollment_token, "enrollment_token"),
            use_p256=bool(use_p256), seed=whole(seed, "seed", U64), train_ms_max=whole(train_ms_max, "train_ms_max", U32),
            checkin_ms_max=whole(checkin_ms_max, "checkin_ms_max", U32),
            checkpoint_steps=whole(checkpoint_steps, "checkpoint_steps", U32), on_refused=refused,
            authority_key=_exactly(authority_key, 32, "authority_key"),
            certificate=_at_most(certificate, 1024, "certificate"),
            certificate_size=0 if certificate is None else len(certificate), group=whole(group, "group", U64))
        limits = (Policy() if policy is None else policy)._struct()
        struct.policy = ctypes.pointer(limits)
        if requirements is not None:
            struct.requirements = ctypes.pointer(requirements._struct())
        data = examples._source.acquire()
        try:
            pointer = open_handle(lib.coterie_client_open, ctypes.byref(struct), ctypes.byref(data))
        except BaseException:
            examples._source.release()
            raise
        told = None if on_progress is None else _telling(on_progress)
        self._thread = ClientThread(pointer, examples._source, told, kept=refused)
        self._finalizer = weakref.finalize(self, self._thread.abandon)

    def start(self, rounds: int = 0) -> None:
        """Takes part until so many more updates are accepted (0: no such end), on a thread of its own. RuntimeError: it
        does already."""
        self._thread.start(whole(rounds, "rounds", U64))

    def join(self, timeout: float | None = None) -> bool:
        """Waits until the thread has ended, or so many seconds; whether it has. Raises, once, what ended it: CoterieError
        (of what stopped the device), or what a callback raised. Not from a callback."""
        return self._thread.join(timeout)

    def run(self, rounds: int = 0) -> None:
        """start() and join(). ^C stops the client."""
        self.start(rounds)
        try:
            self.join()
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends what is under way, soon, and waits for it; from a callback it does not wait. For good."""
        self._thread.stop()

    def set_conditions(self, conditions: Conditions) -> None:
        """What the device is like from now on; from any thread, also while the client runs. Training stops at its next step
        if what is required is no longer so, and goes on when it is."""
        self._thread.set_conditions(conditions._struct())

    @property
    def running(self) -> bool:
        return self._thread.running

    @property
    def rounds_done(self) -> int:
        """Updates that the server has accepted, ever, as the last step knew."""
        return self._thread.rounds_done

    @property
    def last_error(self) -> str:
        """One sentence about the last thing that went wrong; "" if nothing did."""
        return self._thread.last_error

    @property
    def identity(self) -> Identity:
        """RuntimeError: while the client runs."""
        filled = _structs.Identity()
        self._thread.call(lib.coterie_client_identity, ctypes.byref(filled))
        return Identity("p256" if filled.key_algorithm == 2 else "ed25519",
                        bytes(filled.public_key[:filled.public_key_size]))

    def personal_model(self, job: str, published: Model) -> Model:
        """A version of the job's model as this device has it: with what it keeps to itself in its place, or the device's own
        model. CoterieError: NOT_FOUND if it keeps nothing of the job yet. RuntimeError: while the client runs."""
        from ._model import Model

        pointer = ctypes.c_void_p()
        with published._core.use() as model:
            self._thread.call(lib.coterie_client_personal_model, text_bytes(job, "job"), model, ctypes.byref(pointer))
        return Model(pointer)

    @property
    def closed(self) -> bool:
        return self._thread.closed

    def close(self) -> None:
        """Stops it and gives back what it has. Whatever was under way goes on when the directory is opened again."""
        self._thread.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "running" if self.running else "idle"
        return f"<Client, {state}, {self.rounds_done} rounds done>"


def _exactly(content: bytes | None, size: int, what: str) -> bytes | None:
    if content is not None and len(content) != size:  # the library could not see it
        raise ValueError(f"{what} has {len(content)} bytes, it must have {size}")
    return None if content is None else bytes(content)


def _at_most(content: bytes | None, size_max: int, what: str) -> bytes | None:
    if content is not None and not 1 <= len(content) <= size_max:
        raise ValueError(f"{what} has {len(content)} bytes, it must have 1 to {size_max}")
    return None if content is None else bytes(content)


def _refusing(on_refused: OnRefused) -> Callable[[Any, Any], None]:
    def refused(_context: Any, refusal: Any) -> None:
        def tell() -> None:
            given = refusal.contents
            values: dict[str, Any] = {one.name: getattr(given, one.name) for one in fields(Refusal)}
            for name in ("reason", "text", "job"):
                values[name] = values[name].decode("utf-8", "replace")
            values["security_level"] = SecurityLevel(values["security_level"])
            on_refused(Refusal(**values))

        guarded(tell)

    return refused


def _telling(on_progress: OnProgress) -> Callable[[Any, str], bool]:
    def told(step: Any, text: str) -> bool:
        return bool(on_progress(ClientProgress(
            Activity(step.activity), Code(step.step_status), text if step.step_status else "", step.rounds_done,
            step.training_steps, step.training_examples, step.training_loss, Hold(step.hold),
            step.validation_examples, step.validation_loss, bool(step.stopped_early))))

    return told
