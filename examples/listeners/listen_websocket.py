"""Prints the events of Anneal from its WebSocket, one JSON object per line, and misses none.

It stores the id of the last event in the file --last after it has printed the event, and continues behind it: after a broken connection, a
restart of the server, and its own restart. Without the file it begins with the first event after its start.

The environment has the login: OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME; or OS_AUTH_URL and ANNEAL_TOKEN, a machine credential.
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

TOKEN_INVALID = 4401  # the code of a close; every other one means: connect again


def login(auth_url):
    """The token of the environment, or a new one by the password."""
    if "ANNEAL_TOKEN" in os.environ:
        return os.environ["ANNEAL_TOKEN"]
    user = {"name": os.environ["OS_USERNAME"], "domain": {"name": "Default"}, "password": os.environ["OS_PASSWORD"]}
    scope = {"project": {"name": os.environ["OS_PROJECT_NAME"], "domain": {"name": "Default"}}}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
    request = urllib.request.Request(
        f"{auth_url}/auth/tokens", json.dumps(body).encode(), {"content-type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers["x-subject-token"]


def read(path):
    if path and os.path.exists(path):
        with open(path) as file:
            return file.read().strip()
    return ""


def write(path, text):
    """Stores the id so that a kill or a power cut leaves the old one or the new one."""
    if not path:
        return
    with open(path + ".new", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--type", action="append", help="pattern of event types; may be repeated (default: #, all)")
    options.add_argument("--stack", action="append", help="only events of this stack and everything nested in it; may be repeated")
    options.add_argument("--last", default="", help="the file with the id of the last event")
    options.add_argument("--count", type=int, default=0, help="stop after this number of events")
    arguments = options.parse_args()
    auth_url = os.environ["OS_AUTH_URL"].rstrip("/")
    address = auth_url.split("/identity")[0].replace("http", "ws", 1) + "/api/v1/events/ws"
    last, token, seen = read(arguments.last), None, 0
    while True:
        query = [("types", each) for each in arguments.type or []] + [("stack", each) for each in arguments.stack or []]
        if last:
            query.append(("after", last))
        try:
            token = token or login(auth_url)
            with connect(
                f"{address}?{urllib.parse.urlencode(query)}",
                additional_headers={"X-Auth-Token": token},
                subprotocols=[Subprotocol("cloudevents.json")],
                max_size=None,
            ) as socket:
                print("listening", file=sys.stderr, flush=True)
                for text in socket:
                    event = json.loads(text)
                    if event["type"] == "events.gap":
                        # The log has removed events that this program has not seen: read the state of your objects again.
                        print(f"events were lost after {event['data']['after']}", file=sys.stderr, flush=True)
                    elif event["type"] != "events.position":
                        print(json.dumps(event), flush=True)
                        seen += 1
                    # Of every text: also the position, which comes before the first event.
                    last = event["id"]
                    write(arguments.last, last)
                    if seen == arguments.count:
                        return
        except InvalidStatus as refused:
            if refused.response.status_code == 401:
                token = None
            elif refused.response.status_code < 500 and refused.response.status_code != 429:
                sys.exit(f"refused: {refused.response.body.decode()}")
        except ConnectionClosed as closed:
            if closed.rcvd and closed.rcvd.code == TOKEN_INVALID:
                token = None
        except (OSError, TimeoutError, urllib.error.URLError):
            pass  # the server is away
        print("connecting again", file=sys.stderr, flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()
