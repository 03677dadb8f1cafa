"""Prints the events of Anneal from RabbitMQ, one JSON object per line.

Without --queue it receives only the events that are published while it runs. With --queue NAME the broker keeps the events that are
published while it does not run.
"""

import argparse
import json

import pika

SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bus", default="amqp://guest:guest@127.0.0.1:5672/%2F", help="the URL of the broker")
    options.add_argument("--prefix", default="", help="the ?prefix= of ANNEAL_BUS_URL")
    options.add_argument("--pattern", default="#", help="pattern of event types: * is one word, # any number of words; e.g. stack.#")
    options.add_argument("--queue", default="", help="a durable queue, e.g. listener.billing")
    options.add_argument("--count", type=int, default=0, help="stop after this number of events")
    arguments = options.parse_args()

    channel = pika.BlockingConnection(pika.URLParameters(arguments.bus)).channel()
    if arguments.queue:
        # An abandoned queue grows without a limit, so let the broker remove it after a week without a consumer.
        limits = {"x-queue-type": "quorum", "x-expires": SEVEN_DAYS_MS}
        queue = channel.queue_declare(arguments.queue, durable=True, arguments=limits).method.queue
    else:
        queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, arguments.prefix + "anneal.events", arguments.pattern)
    channel.basic_qos(prefetch_count=100)
    print("listening", flush=True)

    seen = 0
    for method, properties, body in channel.consume(queue):
        assert properties.content_type == "application/cloudevents+json", properties
        event = json.loads(body)
        # The attributes are headers too, so that a program can choose messages before it reads their bodies.
        assert properties.headers["cloudEvents_type"] == event["type"], properties
        assert properties.headers.get("cloudEvents_subject") == event.get("subject"), properties
        print(json.dumps(event), flush=True)
        # Acknowledge last, so that no event is lost. An event that arrives twice has the same id.
        channel.basic_ack(method.delivery_tag)
        seen += 1
        if seen == arguments.count:
            break


if __name__ == "__main__":
    main()
