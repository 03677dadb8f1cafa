#!/usr/bin/env python3
"""A provider of one resource type, Example::File, over RabbitMQ: a file in a folder.

The contract in short (docs/tasks/write-a-provider.md has the whole contract):
- Announce the types and the queue of requests at every start.
- A request may arrive twice: do the work once and send the same response again.
- `fence` grows with every new request for a resource: drop a request with a lower fence than the highest one seen.
- Send the response before you acknowledge the request, so that neither is lost when this program dies.
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
            "description": "Name in the folder of the provider. A change replaces the file.",
            "constraints": [{"allowed_pattern": "[A-Za-z0-9][A-Za-z0-9_.-]*"}],
        },
        "content": {"type": "String", "default": "", "update_allowed": True, "description": "Content of the file."},
    },
    "attributes": {
        "path": {"type": "String", "description": "Path of the file."},
        "sha256": {"type": "String", "description": "SHA-256 hash of the content."},
    },
    "actions": ["check"],
    "budget_seconds": 30,
}


class Refused(Exception):
    """The request cannot be carried out, and a retry would not help."""


class Files:
    """The files, and a record for each resource: the highest fence and the response to it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.records = folder / ".records"
        self.records.mkdir(parents=True, exist_ok=True)

    def record_of(self, resource: str) -> dict:
        try:
            return json.loads((self.records / f"{resource}.json").read_text())
        except FileNotFoundError:
            return {"fence": 0, "answer": None}

    def record(self, resource: str, fence: int, answer: dict) -> None:
        write_whole(self.records / f"{resource}.json", json.dumps({"fence": fence, "answer": answer}))

    def run(self, action: str, request: dict) -> dict:
        name = request["properties"].get("name", "")
        if not name or "/" in name or name.startswith("."):
            raise Refused(f"{name!r} is not a valid file name.")
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
            raise Refused(f"{path} does not exist.")
        expected = request["properties"].get("content") or ""
        actual = path.read_text()
        drift = [] if actual == expected else [{"property": "content", "expected": expected, "actual": actual}]
        return {"drift": drift}


def write_whole(path: Path, text: str) -> None:
    """A reader sees either the old or the new content, even after a power cut."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def envelope(kind: str, data: dict, cause: dict | None = None, message_id: str | None = None) -> dict:
    """A CloudEvent, the form of every message on the bus."""
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
        connection = pika.BlockingConnection(pika.URLParameters(url))
        self.declare(connection)
        self.channel = connection.channel()
        # A send returns when the broker has stored the message on disk.
        self.channel.confirm_delivery()

    def declare(self, connection: pika.BlockingConnection) -> None:
        arguments = {
            "x-queue-type": "quorum",
            "x-delivery-limit": 1_000_000,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": self.prefix + "anneal.rejected",
        }
        try:
            connection.channel().queue_declare(self.prefix + QUEUE, durable=True, arguments=arguments)
        except pika.exceptions.ChannelClosedByBroker as refusal:
            # An earlier version declared the queue with other arguments, which it keeps. Use it as it is.
            if refusal.reply_code != 406:
                raise

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
            # A response that is sent again has the same id.
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
        # A check or signal changes no file, so it needs no record.
        if action in ("check", "signal"):
            return {**common, **self.attempt(action, request)}
        known = self.files.record_of(resource)
        if known["fence"] > fence:
            return None
        if known["fence"] == fence and known["answer"]:
            return known["answer"]
        answer = {**common, **self.attempt(action, request)}
        self.files.record(resource, fence, answer)
        return answer

    def attempt(self, action: str, request: dict) -> dict:
        try:
            if action == "signal":
                raise Refused("A file accepts no signals.")
            return {"status": "complete", **self.files.run(action, request)}
        except (Refused, OSError) as error:
            return {"status": "failed", "error": {"code": "ResourceFailed", "message": str(error)}}


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves the resource type Example::File over RabbitMQ.")
    parser.add_argument("--bus", default=os.environ.get("ANNEAL_BUS_URL", "amqp://127.0.0.1"), help="amqp://…")
    parser.add_argument("--prefix", default="", help="the ?prefix= of ANNEAL_BUS_URL, if there is one")
    parser.add_argument("--folder", type=Path, default=Path("files"), help="folder of the files")
    options = parser.parse_args()
    Provider(options.bus, options.prefix, Files(options.folder.resolve())).serve()


if __name__ == "__main__":
    main()
