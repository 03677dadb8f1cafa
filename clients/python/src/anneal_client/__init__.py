"""A typed client for the API of Anneal."""

from __future__ import annotations

from . import types
from .connection import Connection
from .errors import AnnealError
from .login import Login, by_application_credential, by_password, by_token, from_environment
from .operations import Operations
from .stacks import Stacks
from .stream import StreamedEvent
from .webhook import verify_webhook

__all__ = [
    "AnnealError",
    "Client",
    "Connection",
    "Login",
    "StreamedEvent",
    "by_application_credential",
    "by_password",
    "by_token",
    "from_environment",
    "types",
    "verify_webhook",
]


class Client(Operations):
    """A server of Anneal: every operation of `/api/v1` as a function, and `stacks`.

    Logs in at the first call. Without a login it takes that of the environment, as `from_environment` finds it.
    ``timeout`` is the time in seconds for which one call waits for an answer.
    """

    def __init__(self, login: Login | None = None, *, timeout: float = 60.0) -> None:
        super().__init__(Connection(login or from_environment(), timeout=timeout))
        self.stacks = Stacks(self.connection)
