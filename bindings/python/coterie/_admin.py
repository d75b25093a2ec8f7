"""Admin: a server's operators' plane (docs/openapi.json), with the standard library alone."""
from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence, Union

from ._errors import Code, CoterieError
from ._events import Event
from ._http import ANSWER_S, FRAME, AdminConnection, AdminError, target_of
from ._model import Model
from ._text import StrPath

Json = dict[str, Any]
ModelFile = Union[Model, bytes, str, "os.PathLike[str]"]
ENDED = ("completed", "failed", "cancelled")
RECONNECTS_MAX, RECONNECT_S = 5, 0.1  # in a row, without an event in between; each after twice the time

__all__ = ["Admin", "AdminError", "Event"]


class Admin:
    """Asks and tells a server. Answers are its JSON, as docs/openapi.json has it. Threads may share one. Every method:
    AdminError, what the server refuses; OSError (ssl.SSLError, TimeoutError), no answer came."""

    def __init__(self, url: str, *, token: str, ca_file: StrPath | None = None, timeout: float = ANSWER_S):
        """`url`: https://host:port. `ca_file`: certificates to trust; None: the system's."""
        self._connection = AdminConnection(url, token, ca_file, timeout)

    @classmethod
    def from_data_dir(cls, data_dir: StrPath, *, timeout: float = ANSWER_S) -> Admin:
        """A server of this machine, by the folder it runs on. CoterieError: NOT_FOUND, no server runs there."""
        folder = Path(data_dir)
        try:
            endpoints = json.loads((folder / "endpoints.json").read_text(encoding="utf-8"))
            token = _beside(endpoints["admin_token_file"], folder / "admin-token").read_text(encoding="utf-8")
            ca_file = _beside(endpoints["ca_file"], folder / "tls" / "ca.pem")
            return cls(endpoints["admin_url"], token=token, ca_file=ca_file, timeout=timeout)
        except FileNotFoundError as error:
            raise CoterieError(Code.NOT_FOUND, f"no server runs on {folder}: there is no {error.filename}") from None
        except (ValueError, KeyError, TypeError):
            raise CoterieError(Code.MALFORMED, f"{folder / 'endpoints.json'} is not what fl_server writes") from None

    # ---- the server

    def server(self) -> Json:
        """Version, devices waiting, rounds under way."""
        return self._get("server")

    def nodes(self) -> list[Json]:
        nodes: list[Json] = self._get("nodes")["nodes"]
        return nodes

    def metrics(self) -> str:
        """Prometheus text."""
        return self._connection.request("GET", "/metrics").decode()

    # ---- jobs

    def create_job(self, spec: Mapping[str, Any], *, model: ModelFile | None = None,
                   evaluation: bytes | StrPath | None = None, tenant: str | None = None, key: str | None = None) -> Json:
        """A job, which starts at once. `spec` is JobSettings (examples/job.json); `model` and `evaluation` (a data set file)
        are uploaded first. The same `key` and job again within a day, when an answer was lost, are the job that there is.
        AdminError: `problem["errors"]` names everything that is wrong with it."""
        body = dict(spec)
        if model is not None:
            body["model"] = self.upload_model(model)["digest"]
        if evaluation is not None:
            body["evaluation"] = self.upload_dataset(evaluation)["digest"]
        created: Json = self._connection.post_json(target_of("jobs", tenant=tenant), body,
                                                   None if key is None else {"Idempotency-Key": key})
        return created

    def jobs(self, *, state: str | None = None, population: str | None = None) -> list[Json]:
        return self._connection.pages(target_of("jobs", state=state, population=population), "jobs")

    def job(self, job: str) -> Json:
        return self._get("jobs/{}", job)

    def analytics_result(self, job: str) -> Json:
        """What a job with analytics has counted in all rounds so far."""
        return self._get("jobs/{}/result", job)

    def pause(self, job: str) -> Json:
        return self._post("jobs/{}:pause", job)

    def resume(self, job: str) -> Json:
        return self._post("jobs/{}:resume", job)

    def cancel(self, job: str) -> Json:
        return self._post("jobs/{}:cancel", job)

    def delete_job(self, job: str) -> None:
        """With its rounds and models; it must be over. The privacy ledger keeps its records."""
        self._delete("jobs/{}", job)

    def rounds(self, job: str, *, limit: int | None = None, state: str | None = None) -> list[Json]:
        """Attempts of rounds, newest first; `number` counts a job's rounds from 1."""
        rounds: list[Json] = self._get("jobs/{}/rounds", job, limit=limit, state=state)["rounds"]
        return rounds

    def curves(self, job: str, *, points: int | None = None) -> Json:
        """What a job's charts draw, by column: of its rounds, thinned to so many points that least and most stay."""
        return self._get("jobs/{}/curves", job, points=points)

    def why(self, job: str, round: int) -> Json:
        """What became of the devices that asked in a round, by its number: its `attempts`, each with how many `asked` and
        `codes`, which sum to that."""
        return self._get("jobs/{}/rounds/{}/why", job, int(round))

    def trace(self, job: str, round: int | None = None) -> Json:
        """What a round took its time with, as Trace Event Format (ui.perfetto.dev, chrome://tracing): the one of this
        number, or the newest that the server keeps."""
        return self._get("jobs/{}/trace", job, round=round)

    def watch(self, job: str, *, last_id: str = "") -> Iterator[Event]:
        """The job's rounds as they go, until it is over ("over" is the last event). A stream that breaks is gone on with
        from behind the last event; OSError when it breaks again and again."""
        return self._follow(target_of("jobs/{}/events", job), last_id)

    def events(self, *, last_id: str = "") -> Iterator[Event]:
        """Likewise, of all jobs; without an end of its own."""
        return self._follow(target_of("events"), last_id)

    def wait(self, job: str) -> Json:
        """The job, when it is over."""
        while (found := self.job(job))["state"] not in ENDED:
            for event in self.watch(job):
                if event.kind == "over":
                    break
        return found

    # ---- models and data sets

    def upload_model(self, model: ModelFile) -> Json:
        return self._upload("models", model.to_bytes() if isinstance(model, Model) else model)

    def upload_dataset(self, dataset: bytes | StrPath) -> Json:
        """A data set file to evaluate models on."""
        return self._upload("datasets", dataset)

    def models(self, job: str) -> list[Json]:
        """All versions; 0 is what the job began with."""
        return self._connection.pages(target_of("jobs/{}/models", job), "models")

    def model(self, job: str, version: int | None = None) -> Model:
        """A version of the job's model, or the newest one."""
        return Model.from_bytes(self.download(job, version))

    def download(self, job: str, version: int | None = None) -> bytes:
        number = self.models(job)[-1]["version"] if version is None else int(version)
        return self._connection.request("GET", target_of("jobs/{}/models/{}/content", job, number))

    def model_version(self, job: str, version: int) -> Json:
        """What is known of a version: digest, size, evaluation."""
        return self._get("jobs/{}/models/{}", job, int(version))

    def model_graph(self, job: str, version: int) -> Json:
        """What a version computes: its ops with their shapes and parameters, and blocks of them."""
        return self._get("jobs/{}/models/{}/graph", job, int(version))

    def model_parameters(self, job: str, version: int) -> list[Json]:
        """What the values of each parameter are like: range, mean, deviation, zeros, what is not finite, a histogram."""
        return self._connection.pages(target_of("jobs/{}/models/{}/parameters", job, int(version)), "parameters")

    def promote(self, job: str, version: int) -> Json:
        """From now on applications should use this version."""
        return self._post("jobs/{}/models/{}:promote", job, int(version))

    def rollback(self, job: str) -> Json:
        return self._post("jobs/{}/models:rollback", job)

    def open_canary(self, job: str, version: int, percent: int, *, promote_after: int | None = None, alpha: float | None = None,
                    margin: float | None = None, harm_max: float | None = None, devices_max: int | None = None,
                    evaluation_job: str | None = None) -> Json:
        """From now on `percent` of the population's devices have this version, until `observe` shows that it is worse, or
        the rounds of `evaluation_job` do, which compares it with the version before."""
        body = {"percent": percent, "promote_after": promote_after, "alpha": alpha, "margin": margin, "harm_max": harm_max,
                "devices_max": devices_max, "evaluation_job": evaluation_job}
        return self._post("jobs/{}/models/{}:canary", job, int(version), body=body)

    def canaries(self, job: str) -> list[Json]:
        """Newest first."""
        canaries: list[Json] = self._get("jobs/{}/canaries", job)["canaries"]
        return canaries

    def canary(self, job: str, canary: str) -> Json:
        return self._get("jobs/{}/canaries/{}", job, canary)

    def observe(self, job: str, canary: str, observations: list[Json]) -> Json:
        """What sources (devices or batches) got right with both versions: {"source", "both", "only_new", "only_old",
        "neither"}, at most 1,000. Each source counts once a canary."""
        return self._post("jobs/{}/canaries/{}:observe", job, canary, body={"observations": observations})

    def end_canary(self, job: str, canary: str) -> Json:
        """The version before is everybody's again."""
        return self._post("jobs/{}/canaries/{}:end", job, canary)

    def delete_model(self, job: str, version: int) -> None:
        """A version that nothing needs. AdminError: it is the first, the newest, promoted, or trained from."""
        self._delete("jobs/{}/models/{}", job, int(version))

    def delete_model_upload(self, digest: str) -> None:
        """A model file that no job is made of."""
        self._delete("models/{}", digest)

    def delete_dataset(self, digest: str) -> None:
        """A data set that no job is made of."""
        self._delete("datasets/{}", digest)

    # ---- who may

    def create_token(self, *, population: str = "default", label: str = "", uses: int = 1,
                     valid_seconds: int | None = None) -> Json:
        """An enrollment token for devices; its secret, `token`, is shown this once."""
        body = {"population": population, "label": label, "uses": uses, "valid_seconds": valid_seconds}
        return self._post("enrollment-tokens", body=body)

    def tokens(self) -> list[Json]:
        return self._connection.pages(target_of("enrollment-tokens"), "tokens")

    def delete_token(self, token: str) -> None:
        self._delete("enrollment-tokens/{}", token)

    def create_admin_token(self, label: str, roles: Sequence[str], *, valid_seconds: int | None = None,
                           tenant: str | None = None) -> Json:
        """Likewise, for people and programs; roles are viewer, operator, ml_engineer, privacy_officer, security_admin;
        and application, which asks models that the server answers with."""
        body = {"label": label, "roles": list(roles), "valid_seconds": valid_seconds, "tenant": tenant}
        return self._post("tokens", body=body)

    def admin_tokens(self) -> list[Json]:
        return self._connection.pages(target_of("tokens"), "tokens")

    def delete_admin_token(self, token: str) -> None:
        self._delete("tokens/{}", token)

    def devices(self, *, population: str | None = None, revoked: bool | None = None) -> list[Json]:
        return self._connection.pages(target_of("devices", population=population, revoked=revoked), "devices")

    def revoke_device(self, device: str) -> Json:
        return self._post("devices/{}:revoke", device)

    # ---- what is kept

    def privacy_budgets(self, *, population: str | None = None) -> Json:
        return self._get("privacy-budgets", population=population)

    def set_privacy_budget(self, spec: Mapping[str, Any]) -> Json:
        return self._post("privacy-budgets", body=dict(spec))

    def ledger(self) -> list[Json]:
        """The privacy ledger of all jobs, in order."""
        return self._connection.pages(target_of("ledger"), "records")

    def audit(self, *, who: str | None = None, action: str | None = None) -> list[Json]:
        """What callers of this plane did, in order."""
        return self._connection.pages(target_of("audit", who=who, action=action), "records")

    # ---- vertical jobs

    def vertical_jobs(self) -> list[Json]:
        """Jobs of the coordinator that the server is an operator of, by id."""
        return self._connection.pages(target_of("vertical-jobs"), "vertical_jobs")

    def vertical_job(self, vertical_job: str) -> Json:
        """Parties, stages, bytes, and who learns what."""
        return self._get("vertical-jobs/{}", vertical_job)

    def pause_vertical_job(self, vertical_job: str) -> Json:
        return self._post("vertical-jobs/{}:pause", vertical_job)

    def resume_vertical_job(self, vertical_job: str) -> Json:
        return self._post("vertical-jobs/{}:resume", vertical_job)

    def cancel_vertical_job(self, vertical_job: str) -> Json:
        return self._post("vertical-jobs/{}:cancel", vertical_job)

    def _get(self, path: str, *segments: object, **query: object) -> Json:
        answer: Json = self._connection.get_json(target_of(path, *segments, **query))
        return answer

    def _post(self, path: str, *segments: object, body: Json | None = None) -> Json:
        given = None if body is None else {name: value for name, value in body.items() if value is not None}
        answer: Json = self._connection.post_json(target_of(path, *segments), given)
        return answer

    def _delete(self, path: str, *segments: object) -> None:
        self._connection.request("DELETE", target_of(path, *segments))

    def _upload(self, path: str, file: bytes | StrPath) -> Json:
        content = file if isinstance(file, bytes) else Path(file).read_bytes()
        answer: Json = json.loads(self._connection.request("POST", target_of(path), content, FRAME))
        return answer

    def _follow(self, target: str, last_id: str) -> Iterator[Event]:
        broken = 0
        while True:
            try:
                for event in self._connection.stream(target, last_id):
                    broken, last_id = 0, event.id
                    yield event
                    if event.kind == "over":
                        return
                broken += 1  # the server ended it, without a word: it stops, or the token does
                error: Exception = ConnectionResetError("the server ended the stream of events")
            except AdminError:
                raise
            except (OSError, CoterieError) as caught:
                if isinstance(caught, CoterieError) and caught.code != Code.UNAVAILABLE:
                    raise
                broken, error = broken + 1, caught
            if broken > RECONNECTS_MAX:
                raise error
            time.sleep(RECONNECT_S * 2**broken)


def _beside(path: str, in_data_dir: Path) -> Path:
    """Relative paths are the server's, which may run elsewhere."""
    return in_data_dir if not os.path.isabs(path) and not os.path.exists(path) and in_data_dir.exists() else Path(path)
