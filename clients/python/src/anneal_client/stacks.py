"""Stacks, by Heat's API: create, update, read, wait, delete."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from .connection import Connection
from .errors import AnnealError

_Template = str | Mapping[str, Any]
_Stacks = list[dict[str, Any]]


class Stacks:
    """The stacks of the project. A stack is named by its name or its id."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, name: str, template: _Template, **more: Any) -> str:
        """Begins to create a stack and returns its id; `wait` waits for the end.

        ``template`` is the text or the form of a template. ``more`` may have ``parameters``, ``environment``,
        ``files`` (their texts by the names that the template uses), ``tags``, ``timeout_mins`` and
        ``disable_rollback``, as Heat's API has them.
        """
        body = {"stack_name": name, "template": template, **more}
        return str(self._json("POST", "/stacks", body)["stack"]["id"])

    def update(self, stack: str, template: _Template, **more: Any) -> None:
        """Begins to update a stack. ``more`` is that of `create`, and ``existing: True`` keeps what is not given."""
        self._json("PUT", self._path(stack), {"template": template, **more})

    def get(self, stack: str) -> dict[str, Any]:
        """The stack as Heat shows it: ``stack_status``, ``outputs`` and more."""
        found: dict[str, Any] = self._json("GET", self._path(stack))["stack"]
        return found

    def outputs(self, stack: str) -> dict[str, Any]:
        """The values of the outputs, by their names."""
        return {each["output_key"]: each.get("output_value") for each in self.get(stack).get("outputs", [])}

    def list(self) -> _Stacks:
        """Every stack of the project that is not nested, without outputs."""
        found: _Stacks = []
        while True:
            marker = f"&marker={found[-1]['id']}" if found else ""
            page = self._json("GET", f"/stacks?limit=500{marker}")["stacks"]
            found += page
            if len(page) < 500:
                return found

    def delete(self, stack: str) -> None:
        """Begins to delete a stack."""
        self._json("DELETE", self._path(stack))

    def wait(self, stack: str, *, timeout: float = 3600.0) -> dict[str, Any]:
        """Waits until no action runs, and returns the stack.

        Raises `AnnealError` when the action failed, with the reason, and when the time in seconds is over. A stack
        that is gone after its deletion is returned with the status ``DELETE_COMPLETE``; pass its id to wait for that.
        """
        end, pause = time.monotonic() + timeout, 0.1
        seen: dict[str, Any] = {}
        while True:
            try:
                seen = self.get(stack)
            except AnnealError as error:
                if error.status == 404 and seen:
                    return {**seen, "stack_status": "DELETE_COMPLETE"}
                if error.status not in (0, 429, 502, 503, 504):
                    raise
            status = str(seen.get("stack_status", ""))
            if status.endswith("_COMPLETE"):
                return seen
            if status.endswith("_FAILED"):
                raise AnnealError("Conflict", f"The stack {stack} is {status}: {seen.get('stack_status_reason')}")
            if time.monotonic() >= end:
                raise AnnealError("TimedOut", f"The stack {stack} is still {status or 'unknown'} after {timeout:g} s.")
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(pause * 1.5, 2.0)

    def _path(self, stack: str) -> str:
        return f"/stacks/{self._connection.segment(stack)}"

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        data = self._connection.call(method, f"/orchestration/v1/{self._connection.project_id}{path}", body=body)
        return json.loads(data) if data else None
