"""Runs the configs of one host over HTTP, one at a time and in order. Anneal pushes them over one open connection.

It needs Python 3 and nothing else.

    anneal host join web1 --format seed > seed.json
    python3 host_push.py --seed seed.json --journal journal
"""

import argparse
import http.client
import json
import random
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from run_config import Journal

# The server writes a comment at least every 15 s, so a longer silence is a lost connection.
SILENCE_SECONDS = 60


def events(seed, last):
    """Yields the events of one connection, as maps with `event`, `id` and `data`."""
    headers = {"X-Auth-Token": seed["token"], "Accept": "text/event-stream"}
    if last is not None:
        headers["Last-Event-ID"] = last
    asked = urllib.request.Request(f"{seed['gateway_url']}/agent/v1/requests", headers=headers)
    with urllib.request.urlopen(asked, timeout=SILENCE_SECONDS) as lines:
        event = {}
        for line in lines:
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            if name == "":
                # An empty line ends an event; a line that begins with a colon is a comment.
                if value == "" and "data" in event:
                    yield {**event, "data": json.loads(event["data"])}
                    event = {}
            else:
                event[name] = value


def post(seed, body):
    """Repeats the message until Anneal has stored it. A repeat changes nothing."""
    url = f"{seed['gateway_url']}/messaging/v2/queues/{seed['responses_queue']}/messages"
    text = json.dumps({"messages": [{"ttl": 600, "body": body}]}).encode()
    while True:
        headers = {"X-Auth-Token": seed["token"], "Content-Type": "application/json", "Client-ID": seed["host_id"]}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data=text, headers=headers), timeout=30):
                return
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                print(f"refused: {error.code} {error.read().decode(errors='replace')}", flush=True)
                return
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(1 + random.random())


class Work(threading.Thread):
    """Runs one request and answers it."""

    def __init__(self, seed, journal, request):
        super().__init__(daemon=True)
        self.seed, self.journal, self.request = seed, journal, request
        self.stop = threading.Event()

    def run(self):
        post(self.seed, {"id": self.request["id"], "progress": "started"})
        post(self.seed, self.journal.answer(self.request, self.stop))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", required=True, help="the output of `anneal host join HOST --format seed`")
    options.add_argument("--journal", required=True, help="a folder of this program that survives restarts")
    arguments = options.parse_args()
    seed, journal = json.loads(Path(arguments.seed).read_text()), Journal(arguments.journal)

    last, work = None, None
    post(seed, {"hello": True, "facts": {}})
    while True:
        try:
            for event in events(seed, last):
                if event["event"] == "request":
                    # Only this process knows that it works on it. A new process begins without the id, and gets it again.
                    last = event["id"]
                    if work is not None:
                        work.join()
                    work = Work(seed, journal, event["data"]["request"])
                    work.start()
                elif event["event"] == "stop" and work is not None and work.request["id"] == event["data"]["id"]:
                    work.stop.set()
        except urllib.error.HTTPError as error:
            print(f"the server answered {error.code}", flush=True)
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(1 + random.random())


if __name__ == "__main__":
    main()
