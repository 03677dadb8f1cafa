"""What a call raises."""

from __future__ import annotations

import json
from typing import Any


class AnnealError(Exception):
    """A refusal of the server, or no answer from it.

    ``code`` is one of the codes of the error reference, for example ``NotFound``; ``status`` the HTTP status, 0 when
    no server answered; ``mistakes`` names each wrong field with its path; ``remedy`` says what to do.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        mistakes: list[dict[str, Any]] | None = None,
        remedy: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.mistakes = mistakes or []
        self.remedy = remedy
        self.details = details or {}

    def __str__(self) -> str:
        lines = [f"{self.message} ({self.code})"]
        lines += [f"  {each.get('path') or 'the request'}: {each.get('message')}" for each in self.mistakes]
        if self.remedy:
            lines.append(self.remedy)
        return "\n".join(lines)


_CODES = {
    400: "InvalidRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    413: "TooLarge",
    429: "LimitReached",
    502: "Unavailable",
    503: "Unavailable",
    504: "TimedOut",
}


def error_of(status: int, body: bytes, what: str) -> AnnealError:
    """The error that an answer of this API, of Heat's or of Keystone's reports."""
    code = _CODES.get(status, "Defect")
    try:
        error = json.loads(body)["error"]
        own = error.get("code")
        return AnnealError(
            own if isinstance(own, str) else code,
            str(error["message"]),
            status=status,
            mistakes=error.get("mistakes"),
            remedy=error.get("remedy"),
            details=error.get("details"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        text = body.decode("utf-8", "replace").strip()[:500]
        return AnnealError(code, f"Could not {what}: HTTP {status} {text}".strip(), status=status)
