"""Prints the events of Anneal from NATS, one JSON object a line.

Without --durable it hears what happens while it runs. With --durable NAME the server keeps what happens while it is away.
"""

import argparse
import asyncio
import json

import nats
from nats.errors import TimeoutError as NothingYet
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

SEVEN_DAYS = 7 * 24 * 3600


def show(message):
    assert message.headers["content-type"] == "application/cloudevents+json", message.headers
    print(json.dumps(json.loads(message.data)), flush=True)


async def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bus", default="nats://127.0.0.1:4222", help="the URL of the server")
    options.add_argument("--prefix", default="anneal", help="the ?prefix= of ANNEAL_BUS_URL")
    options.add_argument("--pattern", default="#", help="of event types: * is one word, # any number; e.g. stack.#")
    options.add_argument("--durable", default="", help="the name of a durable consumer, e.g. listener-billing")
    options.add_argument("--count", type=int, default=0, help="end after so many events")
    given = options.parse_args()

    connection = await nats.connect(given.bus)
    subject = f"{given.prefix}.e.{given.pattern.replace('#', '>')}"
    seen = 0
    if given.durable:
        # An abandoned consumer keeps every event on the disk: the server removes it after a week without a listener.
        config = ConsumerConfig(
            ack_policy=AckPolicy.EXPLICIT, deliver_policy=DeliverPolicy.NEW, inactive_threshold=SEVEN_DAYS
        )
        subscription = await connection.jetstream().pull_subscribe(
            subject, durable=given.durable, stream=f"{given.prefix}-events", config=config
        )
        print("listening", flush=True)
        while not given.count or seen < given.count:
            try:
                messages = await subscription.fetch(min(100, given.count or 100), timeout=30)
            except NothingYet:
                continue
            for message in messages:
                show(message)
                # Only now may the server forget it. An event may come twice: its id says so.
                await message.ack()
                seen += 1
    else:
        subscription = await connection.subscribe(subject)
        await connection.flush()
        print("listening", flush=True)
        async for message in subscription.messages:
            show(message)
            seen += 1
            if seen == given.count:
                break
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
