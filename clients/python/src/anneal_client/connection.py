"""Requests with a login, and streams that continue after a break."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

import urllib3

from .errors import AnnealError, error_of
from .login import Login
from .stream import StreamedEvent, parse

_RETRIES = urllib3.Retry(total=None, connect=0, read=0, status=0, other=0, redirect=0)
# Heat's API redirects a name to the address with the id.
_REDIRECTS, _MOST_REDIRECTS = (301, 302, 307, 308), 3
_SHORTEST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_Query = Mapping[str, str | int | float | bool | Sequence[str] | None]


class Connection:
    """One login for all calls; threads may share it.

    A token is used until the server refuses it; then one login serves every call that was refused, and each is
    repeated once. No other request is repeated, so that the server never does the work twice. A connection that the
    server closed before it read a request is opened again.
    """

    def __init__(self, login: Login, *, timeout: float = 60.0, pool: urllib3.PoolManager | None = None) -> None:
        self.login = login
        self.timeout = timeout
        self._pool = pool or urllib3.PoolManager(maxsize=16, retries=_RETRIES)
        self._lock = threading.Lock()
        self._token = login.token
        self._project: str | None = None

    @staticmethod
    def segment(name: str) -> str:
        """A name or id as a part of an address. Raises `AnnealError` for one that would lead elsewhere."""
        if name in ("", ".", ".."):
            raise AnnealError("InvalidRequest", f'"{name}" is no name or id.')
        return quote(name, safe="")

    @property
    def project_id(self) -> str:
        """The id of the project of the login."""
        token = self._logged_in()
        if self._project is None:
            found = self._send("GET", "/identity/v3/auth/tokens", headers={"x-subject-token": token})
            self._project = str(json.loads(found.read())["token"]["project"]["id"])
            found.release_conn()
        return self._project

    def json(self, method: str, path: str, *, query: _Query | None = None, body: Any = None) -> Any:
        """Calls `/api/v1` and returns the JSON of the answer; None without a body."""
        data = self.call(method, "/api/v1" + path, query=query, body=body)
        return json.loads(data) if data else None

    def read(self, method: str, path: str, *, query: _Query | None = None, body: Any = None) -> bytes:
        """Calls `/api/v1` and returns the bytes of the answer."""
        return self.call(method, "/api/v1" + path, query=query, body=body)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: _Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Calls any API of the server by its path, and returns the bytes of the answer."""
        answer = self._send(method, path, query=query, body=body, headers=headers)
        try:
            return answer.read()
        except urllib3.exceptions.HTTPError as error:
            raise self._unreached(error) from error
        finally:
            answer.release_conn()

    def stream(self, path: str, *, query: _Query | None = None) -> Iterator[StreamedEvent]:
        """The events of a stream, each once and in order.

        After a broken connection it continues behind the last event, with growing waits of up to five seconds, until
        the server ends the stream with the event `end`, or a refusal that a repeat cannot change.
        """
        last, wait = None, _SHORTEST_WAIT
        while True:
            answer = None
            try:
                headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
                answer = self._send("GET", "/api/v1" + path, query=query, headers=headers, timeout=None)
                for event in parse(answer.stream(4096)):
                    last, wait = event.id or last, _SHORTEST_WAIT
                    yield event
                    if event.name == "end":
                        return
            except urllib3.exceptions.HTTPError:
                pass
            except AnnealError as error:
                if error.status not in (0, 429, 502, 503, 504):
                    raise
            finally:
                if answer is not None:
                    answer.close()
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: _Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = -1,
    ) -> urllib3.BaseHTTPResponse:
        url = self.login.url + path + _query_text(query or {})
        for attempt in range(2):
            token = self._logged_in()
            answer = self._reach(
                method,
                url,
                body=_content(body),
                headers={
                    "accept": "application/json",
                    "x-auth-token": token,
                    **({} if body is None else {"content-type": _content_type(body)}),
                    **(headers or {}),
                },
                timeout=urllib3.Timeout(connect=10.0, read=self.timeout if timeout == -1 else timeout),
            )
            if answer.status == 401 and attempt == 0 and self.login.request is not None:
                answer.drain_conn()
                with self._lock:
                    if self._token == token:
                        self._token = None
                continue
            break
        if answer.status < 300:
            return answer
        data = answer.read()
        answer.release_conn()
        raise error_of(answer.status, data, f"{method} {path}")

    def _logged_in(self) -> str:
        with self._lock:
            if self._token is not None:
                return self._token
            answer = self._reach(
                "POST",
                self.login.url + "/identity/v3/auth/tokens",
                body=json.dumps(self.login.request).encode(),
                headers={"content-type": "application/json", "accept": "application/json"},
                timeout=urllib3.Timeout(connect=10.0, read=self.timeout),
            )
            data = answer.read()
            answer.release_conn()
            if answer.status != 201:
                raise error_of(answer.status, data, f"log in at {self.login.url}")
            self._project = str(json.loads(data)["token"]["project"]["id"])
            self._token = answer.headers["x-subject-token"]
            return self._token

    def _reach(self, method: str, url: str, **options: Any) -> urllib3.BaseHTTPResponse:
        """Follows redirects within the server, with the same method. The token goes to no other server."""
        try:
            for _ in range(_MOST_REDIRECTS + 1):
                answer = self._pool.request(method, url, preload_content=False, redirect=False, **options)
                location = answer.headers.get("location") if answer.status in _REDIRECTS else None
                if location is None:
                    return answer
                target = urljoin(url, location)
                if _origin(target) != _origin(url):
                    answer.release_conn()
                    raise AnnealError(
                        "Unavailable",
                        f"The server at {_origin(url)} redirects to {_origin(target)}. Nothing was sent there, because "
                        "credentials go only to the address that they were given for.",
                        remedy="If that is the right address, use it.",
                    )
                answer.drain_conn()
                url = target
            return answer
        except urllib3.exceptions.HTTPError as error:
            raise self._unreached(error) from error

    def _unreached(self, error: Exception) -> AnnealError:
        reason = getattr(error, "reason", None) or error
        return AnnealError(
            "Unavailable",
            f"No server answers at {self.login.url}: {reason}.",
            remedy="Check that the server is running, or correct the address.",
        )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()


def _content(body: Any) -> Any:
    if body is None or isinstance(body, bytes):
        return body
    if hasattr(body, "read"):
        body.seek(0)
        return body
    return json.dumps(body).encode()


def _content_type(body: Any) -> str:
    return "application/octet-stream" if isinstance(body, bytes) or hasattr(body, "read") else "application/json"


def _query_text(query: _Query) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        for each in value if isinstance(value, Sequence) and not isinstance(value, str) else [value]:
            if each is not None:
                pairs.append((name, str(each).lower() if isinstance(each, bool) else str(each)))
    return "?" + urlencode(pairs) if pairs else ""
