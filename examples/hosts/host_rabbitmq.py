"""Runs the configs of one host from RabbitMQ, one at a time and in order.

    anneal host credentials web1 -o json > access.json
    python3 host_rabbitmq.py --access access.json --journal journal

It ends when it loses the broker; let the service manager start it again.
"""

import argparse
import json
import threading
import time
from pathlib import Path

import pika

from run_config import Journal


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--access", required=True, help="the output of `anneal host credentials HOST -o json`")
    options.add_argument("--journal", required=True, help="a folder of this program that survives restarts")
    options.add_argument("--heartbeat", type=float, default=30, help="seconds between the messages of a host that has nothing to say")
    arguments = options.parse_args()
    access = json.loads(Path(arguments.access).read_text())
    journal = Journal(arguments.journal)

    parameters = pika.URLParameters(access["url"])
    parameters.credentials = pika.PlainCredentials(access["user"], access["password"])
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    channel.confirm_delivery()
    channel.basic_qos(prefetch_count=1)

    def send(body):
        durable = pika.BasicProperties(content_type="application/json", delivery_mode=2)
        # Returns when the broker has stored it.
        channel.basic_publish(access["responses"], "", json.dumps(body), durable)

    # The host is idle: Anneal sends the first request, also when it sent it before.
    send({"hello": True, "facts": {}})
    print("listening", flush=True)
    for method, _, body in channel.consume(access["requests"], inactivity_timeout=arguments.heartbeat):
        if method is None:
            send({"hello": True})
            continue
        request = json.loads(body)
        send({"id": request["id"], "progress": "started"})
        answers = []
        work = threading.Thread(target=lambda: answers.append(journal.answer(request)), daemon=True)
        work.start()
        said = time.monotonic()
        while work.is_alive():
            connection.process_data_events(time_limit=0.1)
            if time.monotonic() - said > arguments.heartbeat:
                # Without it Anneal takes the host for dead after 90 s.
                send({"id": request["id"], "progress": "started"})
                said = time.monotonic()
        # An empty list means that the thread failed: then this program fails too, and the next start answers.
        send(answers[0])
        channel.basic_ack(method.delivery_tag)


if __name__ == "__main__":
    main()
