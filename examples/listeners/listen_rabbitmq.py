"""Prints the events of Anneal from RabbitMQ, one JSON object a line.

Without --queue it hears what happens while it runs. With --queue NAME the broker keeps what happens while it is away.
"""

import argparse
import json

import pika

SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bus", default="amqp://guest:guest@127.0.0.1:5672/%2F", help="the URL of the broker")
    options.add_argument("--prefix", default="", help="the ?prefix= of ANNEAL_BUS_URL")
    options.add_argument("--pattern", default="#", help="of event types: * is one word, # any number; e.g. stack.#")
    options.add_argument("--queue", default="", help="a durable queue, e.g. listener.billing")
    options.add_argument("--count", type=int, default=0, help="end after so many events")
    given = options.parse_args()

    channel = pika.BlockingConnection(pika.URLParameters(given.bus)).channel()
    if given.queue:
        # An abandoned queue would grow for ever: the broker removes it after a week without a consumer.
        arguments = {"x-queue-type": "quorum", "x-expires": SEVEN_DAYS_MS}
        queue = channel.queue_declare(given.queue, durable=True, arguments=arguments).method.queue
    else:
        queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, given.prefix + "anneal.events", given.pattern)
    channel.basic_qos(prefetch_count=100)
    print("listening", flush=True)

    seen = 0
    for method, properties, body in channel.consume(queue):
        assert properties.content_type == "application/cloudevents+json", properties
        event = json.loads(body)
        print(json.dumps(event), flush=True)
        # Only now may the broker forget it. An event may come twice: its id says so.
        channel.basic_ack(method.delivery_tag)
        seen += 1
        if seen == given.count:
            break


if __name__ == "__main__":
    main()
