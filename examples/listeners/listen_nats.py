"""Prints the events of Anneal from NATS, one JSON object per line.

Without --durable it receives only the events that are published while it runs. With --durable NAME the server keeps the events that are
published while it does not run.
"""

import argparse
import asyncio
import json
from urllib.parse import unquote

import nats
from nats.errors import TimeoutError as NoMessage
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

SEVEN_DAYS = 7 * 24 * 3600


def show(message):
    assert message.headers["content-type"] == "application/cloudevents+json", message.headers
    event = json.loads(message.data)
    # The attributes are headers too, percent-encoded, so that a program can choose messages before it reads their bodies.
    assert unquote(message.headers["ce-type"]) == event["type"], message.headers
    assert message.headers.get("ce-subject") is None or unquote(message.headers["ce-subject"]) == event["subject"]
    print(json.dumps(event), flush=True)


async def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bus", default="nats://127.0.0.1:4222", help="the URL of the server")
    options.add_argument("--prefix", default="anneal", help="the ?prefix= of ANNEAL_BUS_URL")
    options.add_argument("--pattern", default="#", help="pattern of event types: * is one word, # any number of words; e.g. stack.#")
    options.add_argument("--durable", default="", help="the name of a durable consumer, e.g. listener-billing")
    options.add_argument("--count", type=int, default=0, help="stop after this number of events")
    arguments = options.parse_args()

    connection = await nats.connect(arguments.bus)
    subject = f"{arguments.prefix}.e.{arguments.pattern.replace('#', '>')}"
    seen = 0
    if arguments.durable:
        # An abandoned consumer keeps every event on the disk, so let the server remove it after a week without a listener.
        config = ConsumerConfig(
            ack_policy=AckPolicy.EXPLICIT, deliver_policy=DeliverPolicy.NEW, inactive_threshold=SEVEN_DAYS
        )
        subscription = await connection.jetstream().pull_subscribe(
            subject, durable=arguments.durable, stream=f"{arguments.prefix}-events", config=config
        )
        print("listening", flush=True)
        while not arguments.count or seen < arguments.count:
            try:
                messages = await subscription.fetch(min(100, arguments.count or 100), timeout=30)
            except NoMessage:
                continue
            for message in messages:
                show(message)
                # Acknowledge last, so that no event is lost. An event that arrives twice has the same id.
                await message.ack()
                seen += 1
    else:
        subscription = await connection.subscribe(subject)
        await connection.flush()
        print("listening", flush=True)
        async for message in subscription.messages:
            show(message)
            seen += 1
            if seen == arguments.count:
                break
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
