"""AdminConnection: requests to a server's operators' plane, with the standard library alone."""
from __future__ import annotations

import http.client
import json
import ssl
from typing import Any, Iterator, Mapping
from urllib.parse import quote, urlencode, urlsplit

from ._errors import Code, CoterieError
from ._events import Event, EventParser, LINE_BYTES_MAX
from ._text import StrPath

ANSWER_S = 120.0  # the server may have to write a large model
SILENCE_S = 45.0  # three heartbeats of a stream
FRAME = "application/vnd.coterie.frame"


class AdminError(CoterieError):
    """What the server refuses. `status` is HTTP's, `problem` its JSON (RFC 9457), {} if it sent none: `problem["errors"]`
    has a pointer and a detail for each thing that is wrong, `problem["trace_id"]` finds the request in its log."""

    def __init__(self, status: int, problem: dict[str, Any]):
        self.status, self.problem = status, problem
        lines = [str(problem.get("detail") or problem.get("title") or f"the server answered HTTP status {status}")]
        errors = problem.get("errors")
        lines += [f"  {one.get('pointer') or '/'}: {one.get('detail')}" for one in errors if isinstance(one, dict)] \
            if isinstance(errors, list) else []
        super().__init__(Code.named(problem.get("code")) if problem else _code_of(status), "\n".join(lines))

    def __reduce__(self) -> tuple[object, ...]:
        return AdminError, (self.status, self.problem)


class AdminConnection:
    """One connection a request, so that threads may share this. Follows no redirect: the token goes to this server alone."""

    def __init__(self, url: str, token: str, ca_file: StrPath | None, timeout: float):
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
            raise ValueError(f"the server's URL is https://host:port, not {url!r}")
        self.host, self.port, self.timeout = parts.hostname, parts.port or 443, timeout
        self.authorization = f"Bearer {token.strip()}"
        self.tls = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))

    def request(self, method: str, target: str, body: bytes | None = None, content_type: str | None = None,
                headers: Mapping[str, str] | None = None) -> bytes:
        with _Answer(self, method, target, body, content_type, headers, self.timeout) as answer:
            return answer.read()

    def get_json(self, target: str) -> Any:
        return _json_of(self.request("GET", target))

    def post_json(self, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        return _json_of(self.request("POST", target, content, None if body is None else "application/json", headers))

    def pages(self, target: str, key: str) -> list[dict[str, Any]]:
        """The members of `key` of all pages."""
        items: list[dict[str, Any]] = []
        joint, after = "&" if "?" in target else "?", ""
        while True:
            page = self.get_json(target + after)
            items += page[key]
            if "next_after" not in page:
                return items
            if not page[key]:
                raise CoterieError(Code.MALFORMED, f"the server's list of {key} goes on with a page that has none")
            after = f"{joint}after={quote(str(page['next_after']), safe='')}"

    def stream(self, target: str, last_id: str) -> Iterator[Event]:
        """What comes, until the server ends the stream. OSError: it broke, or was silent for longer than its heartbeat."""
        parser = EventParser(last_id)
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
        with _Answer(self, "GET", target, None, None, headers, SILENCE_S) as answer:
            while line := answer.readline(LINE_BYTES_MAX + 2):
                try:
                    event = parser.take(line.rstrip(b"\r\n"))
                except ValueError as error:
                    raise CoterieError(Code.MALFORMED, f"the server's stream: {error}") from None
                if event is not None:
                    yield event


class _Answer:
    """A request that was sent, and the answer to be read; AdminError if it is no success."""

    def __init__(self, to: AdminConnection, method: str, target: str, body: bytes | None, content_type: str | None,
                 headers: Mapping[str, str] | None, timeout: float):
        self.connection = http.client.HTTPSConnection(to.host, to.port, timeout=timeout, context=to.tls)
        sent = {"Authorization": to.authorization, **(headers or {}), **({"Content-Type": content_type} if content_type else {})}
        try:
            self.connection.request(method, target, body, sent)
            self.response = self.connection.getresponse()
            if not 200 <= self.response.status <= 299:
                raise _error_of(self.response.status, self.response.getheader("Content-Type") or "", self.response.read(2**20))
        except http.client.HTTPException as error:
            self.connection.close()
            raise CoterieError(Code.UNAVAILABLE, f"the server's answer broke off: {error!r}") from None
        except BaseException:
            self.connection.close()
            raise

    def __enter__(self) -> http.client.HTTPResponse:
        return self.response

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.connection.close()
        if isinstance(error, http.client.HTTPException):
            raise CoterieError(Code.UNAVAILABLE, f"the server's answer broke off: {error!r}") from None


def target_of(path: str, *segments: object, **query: object) -> str:
    """A path of the admin API: what is given as an id cannot become another route. Queries of None are left out."""
    words = urlencode({name: str(value).lower() if isinstance(value, bool) else value
                       for name, value in query.items() if value is not None})
    return "/admin/v1/" + path.format(*(quote(str(one), safe="") for one in segments)) + (f"?{words}" if words else "")


def _json_of(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        raise CoterieError(Code.MALFORMED, "the server's answer is no JSON") from None


def _error_of(status: int, content_type: str, content: bytes) -> AdminError:
    problem: Any = {}
    if content_type.startswith("application/problem+json"):
        try:
            problem = json.loads(content)
        except ValueError:
            pass
    return AdminError(status, problem if isinstance(problem, dict) else {})


def _code_of(status: int) -> Code:
    codes = {400: Code.INVALID_ARGUMENT, 401: Code.UNAUTHENTICATED, 403: Code.PERMISSION_DENIED, 404: Code.NOT_FOUND,
             409: Code.CONFLICT, 413: Code.TOO_LARGE, 429: Code.RATE_LIMITED, 503: Code.UNAVAILABLE}
    return codes.get(status, Code.INTERNAL)
