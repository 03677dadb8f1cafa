"""Receives the events of Anneal by a webhook: verifies each, stores it before it accepts it, and recognises repeats.

It uses the standard library of Python only, and nothing of Anneal but its published API and Standard Webhooks. The folder --data has the
subscription (`subscription.json`) and the accepted events (`events.jsonl`), so a killed listener continues where it stopped.

`--check` compares the accepted events with the log of events: it prints what is missing and what came out of order per subject.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import random
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 300  # seconds between the clock of the sender and this one


def verified(secret, headers, body):
    """Whether the body has a signature with the secret, as Standard Webhooks define."""
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > PATIENCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{identifier}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(f"v1,{expected}", each) for each in given)


class Gateway:
    """The API of the gateway, with the token of a password."""

    def __init__(self):
        self.auth_url = os.environ["OS_AUTH_URL"].rstrip("/")
        self.base = self.auth_url.split("/identity")[0] + "/api/v1"
        self.token = None

    def login(self):
        user = {"name": os.environ["OS_USERNAME"], "domain": {"name": "Default"}, "password": os.environ["OS_PASSWORD"]}
        identity = {"methods": ["password"], "password": {"user": user}}
        scope = {"project": {"name": os.environ["OS_PROJECT_NAME"], "domain": {"name": "Default"}}}
        body = {"auth": {"identity": identity, "scope": scope}}
        _, headers = self.send("POST", f"{self.auth_url}/auth/tokens", body)
        self.token = headers["x-subject-token"]

    def send(self, method, url, body=None):
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self.token:
            headers["x-auth-token"] = self.token
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
            return json.load(answer), answer.headers

    def call(self, method, path, body=None):
        if not self.token:
            self.login()
        return self.send(method, self.base + path, body)[0]


class Journal:
    """The accepted events. An event is on the disk before it is accepted."""

    def __init__(self, folder):
        self.lock = threading.Lock()
        self.seen = set()
        path = os.path.join(folder, "events.jsonl")
        whole = 0
        if os.path.exists(path):
            with open(path, "rb") as before:
                for line in before:
                    # A kill may have cut the last line, whose event was not accepted.
                    if not line.endswith(b"\n"):
                        break
                    self.seen.add(json.loads(line)["id"])
                    whole += len(line)
            os.truncate(path, whole)
        self.file = open(path, "ab")

    def add(self, event):
        with self.lock:
            if event["id"] in self.seen:
                return False
            self.file.write(json.dumps(event).encode() + b"\n")
            self.file.flush()
            os.fsync(self.file.fileno())
            self.seen.add(event["id"])
            return True


def subscribe(gateway, options):
    """The subscription of an earlier run, or a new one."""
    path = os.path.join(options.data, "subscription.json")
    if os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    wanted = {
        "name": "webhook listener",
        "url": f"http://127.0.0.1:{options.port}/",
        "types": options.type or ["stack.#", "resource.#"],
        "after": "beginning",
    }
    made = gateway.call("POST", "/subscriptions", wanted)
    with open(path + ".new", "w") as file:
        json.dump(made, file)
    os.replace(path + ".new", path)
    return made


def handler(secret, journal, options):
    chance = random.Random(options.seed)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if options.fail and chance.random() < options.fail:
                status = chance.choice([500, 503, 429, 400, 0])
                if status == 0:
                    self.close_connection = True
                    self.connection.close()
                    return
            elif not verified(secret, self.headers, body):
                status = 401
            else:
                event = json.loads(body)
                assert event["id"] == self.headers["webhook-id"], event
                journal.add(event)
                status = 204
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler


def order_of(events):
    """The ids of each subject, in order."""
    subjects = {}
    for event in events:
        subjects.setdefault(event["subject"], []).append(event["id"])
    return subjects


def check(gateway, options):
    """Compares the accepted events with the log of events."""
    with open(os.path.join(options.data, "subscription.json")) as file:
        types = json.load(file)["subscription"]["types"]
    with open(os.path.join(options.data, "events.jsonl")) as file:
        accepted = [json.loads(line) for line in file]
    published, after = [], "beginning"
    while True:
        query = urllib.parse.urlencode({"after": after, "limit": 1000, "types": ",".join(types)})
        page = gateway.call("GET", f"/events?{query}")
        published += page["events"]
        after = page.get("cursor", after)
        if len(page["events"]) < 1000:
            break
    received, expected = order_of(accepted), order_of(published)
    missing = {subject: left for subject, ids in expected.items() if (left := [each for each in ids if each not in set(received.get(subject, []))])}
    known = {each["id"] for each in published}
    disorder = {
        subject: ids
        for subject, ids in received.items()
        if [each for each in ids if each in known] != [each for each in expected.get(subject, []) if each in set(ids)]
    }
    unknown = [each["id"] for each in accepted if each["id"] not in known]
    report = {"accepted": len(accepted), "published": len(published), "subjects": len(expected)}
    print(json.dumps({**report, "missing": missing, "disorder": disorder, "unknown": unknown}), flush=True)
    return 1 if missing or disorder or unknown else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the folder of the subscription and the accepted events")
    parser.add_argument("--port", type=int, default=9000, help="the port of the webhook")
    parser.add_argument("--type", action="append", help="pattern of event types; may be repeated (default: stack.# and resource.#)")
    parser.add_argument("--check", action="store_true", help="compare the accepted events with the log of events, and end")
    parser.add_argument("--fail", type=float, default=0, help="answer this part of the requests with an error, to try the retries")
    parser.add_argument("--seed", type=int, default=1, help="the seed of --fail")
    options = parser.parse_args()
    os.makedirs(options.data, exist_ok=True)
    gateway = Gateway()
    if options.check:
        sys.exit(check(gateway, options))
    subscription = subscribe(gateway, options)
    journal = Journal(options.data)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), handler(subscription["secret"], journal, options))
    server.daemon_threads = True
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
