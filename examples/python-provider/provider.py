#!/usr/bin/env python3
"""A provider of one resource type, Example::File, over RabbitMQ: a file in a folder.

The contract, in short (docs/tasks/write-a-provider.md has all of it):
- Announce the types, and the queue on which requests are taken, at every start.
- A request may come twice: the work is done once, and the answer given again.
- `fence` grows with every new request for a resource: one that is lower than what was seen is dropped.
- The answer is sent before the request is acknowledged, so that neither is lost when this program dies.
"""

import argparse
import hashlib
import json
import os
import uuid
from datetime import datetime, timezone
from pathlib import Path

import pika

PROVIDER = "example.files"
QUEUE = "example.files.requests"
TYPE = {
    "type": "Example::File",
    "description": "A file with a content.",
    "properties": {
        "name": {
            "type": "String",
            "required": True,
            "description": "Its name in the folder of the provider; another name is another file.",
            "constraints": [{"allowed_pattern": "[A-Za-z0-9][A-Za-z0-9_.-]*"}],
        },
        "content": {"type": "String", "default": "", "update_allowed": True, "description": "What stands in it."},
    },
    "attributes": {
        "path": {"type": "String", "description": "Where it is."},
        "sha256": {"type": "String", "description": "The hash of its content."},
    },
    "actions": ["check"],
    "budget_seconds": 30,
}


class Refused(Exception):
    """What was asked for cannot be done, and trying again would not help."""


class Files:
    """The work itself, and what is remembered of it: per resource the highest fence and the answer to it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.memory = folder / ".memory"
        self.memory.mkdir(parents=True, exist_ok=True)

    def remembered(self, resource: str) -> dict:
        try:
            return json.loads((self.memory / f"{resource}.json").read_text())
        except FileNotFoundError:
            return {"fence": 0, "answer": None}

    def remember(self, resource: str, fence: int, answer: dict) -> None:
        write_whole(self.memory / f"{resource}.json", json.dumps({"fence": fence, "answer": answer}))

    def run(self, action: str, request: dict) -> dict:
        name = request["properties"].get("name", "")
        if not name or "/" in name or name.startswith("."):
            raise Refused(f"{name!r} is no name for a file.")
        path = self.folder / name
        if action == "delete":
            path.unlink(missing_ok=True)
            return {}
        if action == "check":
            return self.check(path, request)
        write_whole(path, request["properties"].get("content") or "")
        return {
            "physical_id": name,
            "attributes": {"path": str(path), "sha256": hash_of(path.read_bytes())},
        }

    def check(self, path: Path, request: dict) -> dict:
        if not path.exists():
            raise Refused(f"{path} is gone.")
        expected = request["properties"].get("content") or ""
        actual = path.read_text()
        drift = [] if actual == expected else [{"property": "content", "expected": expected, "actual": actual}]
        return {"drift": drift}


def write_whole(path: Path, text: str) -> None:
    """A reader sees the old content or the new one, never half of it, also when the power fails."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def envelope(kind: str, data: dict, cause: dict | None = None, message_id: str | None = None) -> dict:
    """A CloudEvent, as everything on the bus is."""
    message_id = message_id or str(uuid.uuid4())
    sent = {
        "specversion": "1.0",
        "id": message_id,
        "type": kind,
        "source": f"{PROVIDER}/python",
        "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "correlationid": message_id,
        "data": data,
    }
    if cause:
        sent["correlationid"] = cause["correlationid"]
        sent["causationid"] = cause["id"]
        sent["subject"] = cause["data"]["resource"]["id"]
        for name in ("project", "traceparent"):
            if name in cause:
                sent[name] = cause[name]
    return sent


class Provider:
    def __init__(self, url: str, prefix: str, files: Files):
        self.prefix = prefix
        self.files = files
        self.channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
        # A send returns once the broker has it on disk.
        self.channel.confirm_delivery()
        self.channel.queue_declare(
            prefix + QUEUE, durable=True, arguments={"x-queue-type": "quorum", "x-delivery-limit": 1_000_000}
        )

    def send(self, queue: str, message: dict) -> None:
        self.channel.basic_publish(
            exchange="",
            routing_key=self.prefix + queue,
            body=json.dumps(message).encode(),
            properties=pika.BasicProperties(
                content_type="application/json", delivery_mode=2, message_id=message["id"]
            ),
        )

    def announce(self) -> None:
        data = {"provider": PROVIDER, "queue": QUEUE, "types": [TYPE]}
        for service in ("templating", "scheduling"):
            self.send(f"anneal.{service}.requests", envelope("provider.announced", data))

    def serve(self) -> None:
        self.channel.basic_qos(prefetch_count=16)
        self.channel.basic_consume(self.prefix + QUEUE, self.take)
        self.announce()
        print("ready", flush=True)
        self.channel.start_consuming()

    def take(self, channel, method, _properties, body: bytes) -> None:
        message = json.loads(body)
        action = message["type"].removeprefix("resource.")
        answer = self.answer(action, message["data"])
        if answer:
            # The same answer has the same id, however often it is sent.
            answer_id = f"{message['id']}:{answer['status']}"
            self.send(message["replyto"], envelope("resource.response", answer, message, answer_id))
        channel.basic_ack(method.delivery_tag)

    def answer(self, action: str, request: dict) -> dict | None:
        resource, fence = request["resource"]["id"], request["fence"]
        common = {
            "resource_id": resource,
            "stack_id": request["stack"]["id"],
            "action": action,
            "fence": fence,
        }
        # Looking changes nothing, so there is nothing to remember; nor does a check take a new fence from a repeat.
        if action in ("check", "signal"):
            return {**common, **self.attempt(action, request)}
        known = self.files.remembered(resource)
        if known["fence"] > fence:
            return None
        if known["fence"] == fence and known["answer"]:
            return known["answer"]
        answer = {**common, **self.attempt(action, request)}
        self.files.remember(resource, fence, answer)
        return answer

    def attempt(self, action: str, request: dict) -> dict:
        try:
            if action == "signal":
                raise Refused("Files do not take signals.")
            return {"status": "complete", **self.files.run(action, request)}
        except (Refused, OSError) as error:
            return {"status": "failed", "error": {"code": "ResourceFailed", "message": str(error)}}


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves the resource type Example::File over RabbitMQ.")
    parser.add_argument("--bus", default=os.environ.get("ANNEAL_BUS_URL", "amqp://127.0.0.1"), help="amqp://…")
    parser.add_argument("--prefix", default="", help="the prefix of the URL that Anneal runs with, if it has one")
    parser.add_argument("--folder", type=Path, default=Path("files"), help="where the files are")
    options = parser.parse_args()
    Provider(options.bus, options.prefix, Files(options.folder.resolve())).serve()


if __name__ == "__main__":
    main()
