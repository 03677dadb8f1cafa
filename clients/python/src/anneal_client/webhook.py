"""Verifies the requests that Anneal sends to a webhook, as Standard Webhooks defines them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import AnnealError

_SECRET = re.compile(r"whsec_([A-Za-z0-9+/]{32,88}={0,2})")


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> list[dict[str, Any]]:
    """The events of a request: one, or several for a subscription with a batch size.

    ``body`` is what arrived, before any parsing; ``secrets`` the secret of the subscription, or both after a rotation.
    An event may come again, so remember the ids that were handled. Raises `AnnealError`: ``Unauthorized`` for a request
    that no secret has signed or that is too old (answer 401), ``InvalidRequest`` for a body that has no events.
    """
    given = {name.lower(): value for name, value in headers.items()}
    id, sent, signatures = (given.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    if id is None or sent is None or signatures is None:
        raise _refused("it lacks a header: webhook-id, webhook-timestamp or webhook-signature")
    clock = time.time() if now is None else now
    if not re.fullmatch(r"[0-9]{1,12}", sent) or abs(clock - int(sent)) > tolerance:
        raise _refused(f"its time {sent} differs from this clock by more than {tolerance:g} s")
    signed = f"{id}.{sent}.".encode() + body
    wanted = [hmac.new(key, signed, hashlib.sha256).digest() for key in _keys(secrets)]
    # Compares each with each, so that the time does not depend on which is right.
    if not any([hmac.compare_digest(one, right) for one in _given(signatures) for right in wanted]):
        raise _refused("no signature was made with a secret of this subscription")
    try:
        parsed = json.loads(body)
    except ValueError as error:
        raise AnnealError("InvalidRequest", "The signed body of the webhook is not JSON.") from error
    events = parsed if isinstance(parsed, list) else [parsed]
    if not all(isinstance(each, dict) and "type" in each and "id" in each for each in events):
        raise AnnealError("InvalidRequest", "The signed body of the webhook is neither a CloudEvent nor a list of them.")
    return events


def _given(signatures: str) -> list[bytes]:
    found = []
    for text in signatures.split(" ")[:10]:
        try:
            if text.startswith("v1,"):
                found.append(base64.b64decode(text[3:], validate=True))
        except binascii.Error:
            continue
    return found


def _keys(secrets: str | Sequence[str]) -> list[bytes]:
    keys = []
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        match = _SECRET.fullmatch(secret)
        if match is None:
            raise AnnealError("InvalidRequest", "A secret is `whsec_` and 24 to 64 bytes in base64.")
        keys.append(base64.b64decode(match[1]))
    return keys


def _refused(why: str) -> AnnealError:
    return AnnealError("Unauthorized", f"Refused a webhook request: {why}.", status=401)
