"""Runs the configs of one host from RabbitMQ, one at a time and in order.

    anneal host credentials web1 -o json > access.json
    python3 host_rabbitmq.py --access access.json --journal journal

It ends when it loses the broker; let the service manager start it again. It ends for good, with status 0, when Anneal
deletes the host.
"""

import json
import sys
import threading
import time

import pika
from pika.exceptions import AMQPConnectionError, ProbableAuthenticationError

from run_config import read_arguments


def main():
    access, journal, heartbeat = read_arguments(__doc__)

    parameters = pika.URLParameters(access["url"])
    parameters.credentials = pika.PlainCredentials(access["user"], access["password"])
    stop = threading.Event()
    try:
        connection = pika.BlockingConnection(parameters)
        serve(connection, access, journal, heartbeat, stop)
    except ProbableAuthenticationError:
        print("the broker refuses the credentials: the host was deleted, or has new ones", flush=True)
    except AMQPConnectionError as error:
        # The work of a host that lost the broker goes on at the next start, from the journal.
        sys.exit(f"lost the broker: {error}")


def serve(connection, access, journal, heartbeat, stop):
    """Returns when the host was deleted, after the end of its config."""
    channel = connection.channel()
    channel.confirm_delivery()

    def send(body):
        durable = pika.BasicProperties(content_type="application/json", delivery_mode=2)
        # Returns when the broker has stored it.
        channel.basic_publish(access["responses"], "", json.dumps(body), durable)

    # The host is idle: Anneal sends the first request, also when it sent it before.
    send({"hello": True, "facts": {}})
    print("listening", flush=True)
    work, answers, said, waiting = None, [], time.monotonic(), []
    for method, _, body in channel.consume(access["requests"], inactivity_timeout=0.1):
        if method is not None:
            # Anneal keeps the request until its answer, so the broker may forget it now.
            channel.basic_ack(method.delivery_tag)
            message = json.loads(body)
            if message.get("deleted"):
                stop.set()
                if work:
                    work[1].join()
                print("deleted", flush=True)
                return
            waiting.append(message)
        if work and not work[1].is_alive():
            # An empty list means that the thread failed: then this program fails too, and the next start answers.
            send(answers.pop())
            work, said = None, time.monotonic()
        if not work and waiting:
            request = waiting.pop(0)
            thread = threading.Thread(target=lambda: answers.append(journal.answer(request, stop)), daemon=True)
            send({"id": request["id"], "progress": "started"})
            thread.start()
            work, said = (request["id"], thread), time.monotonic()
        elif time.monotonic() - said > heartbeat:
            # Without it Anneal takes the host for dead after 90 s.
            send({"id": work[0], "progress": "started"} if work else {"hello": True})
            said = time.monotonic()


if __name__ == "__main__":
    main()
