"""Runs the configs of one host from RabbitMQ, one at a time and in order.

    anneal host credentials web1 -o json > access.json
    python3 host_rabbitmq.py --access access.json --journal journal

It ends when it loses the broker; let the service manager start it again.
"""

import json
import threading
import time

import pika

from run_config import read_arguments


def main():
    access, journal, heartbeat = read_arguments(__doc__)

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
    for method, _, body in channel.consume(access["requests"], inactivity_timeout=heartbeat):
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
            if time.monotonic() - said > heartbeat:
                # Without it Anneal takes the host for dead after 90 s.
                send({"id": request["id"], "progress": "started"})
                said = time.monotonic()
        # An empty list means that the thread failed: then this program fails too, and the next start answers.
        send(answers[0])
        channel.basic_ack(method.delivery_tag)


if __name__ == "__main__":
    main()
