"""How a program logs in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .errors import AnnealError


@dataclass(frozen=True)
class Login:
    """A server and a means to log in there. Use the functions below to make one."""

    url: str
    """The root of the server: ``http://127.0.0.1:8470``."""
    request: dict[str, Any] | None = field(default=None, repr=False)
    """The body of a login at the identity API; absent for a token that exists already."""
    token: str | None = field(default=None, repr=False)


def by_password(
    url: str,
    username: str,
    password: str,
    project: str = "admin",
    *,
    user_domain: str = "default",
    project_domain: str = "default",
) -> Login:
    """Logs in as a user. Domains are ids."""
    user = {"name": username, "domain": {"id": user_domain}, "password": password}
    scope = {"project": {"name": project, "domain": {"id": project_domain}}}
    identity = {"methods": ["password"], "password": {"user": user}}
    return Login(_root(url), {"auth": {"identity": identity, "scope": scope}})


def by_application_credential(url: str, id: str, secret: str) -> Login:
    """Logs in as a program, with the project and the roles of its application credential."""
    identity = {"methods": ["application_credential"], "application_credential": {"id": id, "secret": secret}}
    return Login(_root(url), {"auth": {"identity": identity}})


def by_token(url: str, token: str) -> Login:
    """Uses a token that exists already, for example that of `anneal credential create`. It is not renewed."""
    return Login(_root(url), token=token)


def from_environment(environment: Mapping[str, str] | None = None, folder: str | Path = ".") -> Login:
    """The login that the `anneal` command finds here.

    Reads the variables of OpenStack's clients (``OS_AUTH_URL`` with ``OS_USERNAME`` and ``OS_PASSWORD``, with
    ``OS_TOKEN``, or with ``OS_APPLICATION_CREDENTIAL_ID`` and ``OS_APPLICATION_CREDENTIAL_SECRET``); without them
    ``credentials.json`` in ``ANNEAL_DATA``, or in ``.anneal`` of this folder or of one above it. Raises `AnnealError`
    when there is neither.
    """
    values = os.environ if environment is None else environment
    url = values.get("OS_AUTH_URL")
    if url:
        return _from_variables(url, values)
    here = Path(folder).resolve()
    data = values.get("ANNEAL_DATA")
    places = [here / data] if data else [each / ".anneal" for each in (here, *here.parents)]
    for place in places:
        file = place / "credentials.json"
        if file.is_file():
            known = json.loads(file.read_text())
            return by_password(known["auth_url"], known["username"], known["password"], known["project_name"])
    raise AnnealError(
        "InvalidRequest",
        f"No server to connect to: OS_AUTH_URL is not set, and there is no credentials.json in {places[0]}.",
        remedy="Set OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and OS_PROJECT_NAME, or run in the folder of a server.",
    )


def _from_variables(url: str, values: Mapping[str, str]) -> Login:
    token = values.get("OS_TOKEN") or values.get("OS_AUTH_TOKEN")
    if token:
        return by_token(url, token)
    id, secret = values.get("OS_APPLICATION_CREDENTIAL_ID"), values.get("OS_APPLICATION_CREDENTIAL_SECRET")
    if id and secret:
        return by_application_credential(url, id, secret)
    missing = [name for name in ("OS_USERNAME", "OS_PASSWORD") if not values.get(name)]
    if missing:
        mistakes = [{"path": name, "message": "is not set, but OS_AUTH_URL is"} for name in missing]
        raise AnnealError("InvalidRequest", "Could not log in: settings are missing.", mistakes=mistakes)
    return by_password(
        url,
        values["OS_USERNAME"],
        values["OS_PASSWORD"],
        values.get("OS_PROJECT_NAME", "admin"),
        user_domain=values.get("OS_USER_DOMAIN_ID", "default"),
        project_domain=values.get("OS_PROJECT_DOMAIN_ID", "default"),
    )


def _root(url: str) -> str:
    root = url.rstrip("/").removesuffix("/v3").removesuffix("/identity")
    if "@" in urlsplit(root).netloc:
        raise AnnealError("InvalidRequest", "The address of the server must not contain a user or password.")
    return root
