"""Runs the configs of one host from NATS, one at a time and in order.

    anneal host credentials web1 -o json > access.json
    python3 host_nats.py --access access.json --journal journal
"""

import asyncio
import json

import nats
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NoMessage

from run_config import read_arguments

REPLY_SECONDS = 10


async def main():
    access, journal, heartbeat = read_arguments(__doc__)

    connection = await nats.connect(
        access["url"],
        user=access["user"],
        password=access["password"],
        inbox_prefix=access["inbox"],
        max_reconnect_attempts=-1,
    )

    async def send(body):
        """Repeats the message until Anneal has stored it: a message without a reply may be lost."""
        while True:
            try:
                reply = await connection.request(access["responses"], json.dumps(body).encode(), timeout=REPLY_SECONDS)
            except NatsError:
                await asyncio.sleep(1)
                continue
            answer = json.loads(reply.data)
            if answer.get("retry"):
                await asyncio.sleep(1)
                continue
            if not answer["accepted"]:
                print(f"refused: {answer['error']}", flush=True)
            return

    subscription = await connection.subscribe(access["requests"])
    # The host is idle: Anneal sends the first request, also when it sent it before.
    await send({"hello": True, "facts": {}})
    print("listening", flush=True)
    while True:
        try:
            message = await subscription.next_msg(timeout=heartbeat)
        except NoMessage:
            await send({"hello": True})
            continue
        request = json.loads(message.data)
        await send({"id": request["id"], "progress": "started"})
        work = asyncio.create_task(asyncio.to_thread(journal.answer, request))
        while not (await asyncio.wait({work}, timeout=heartbeat))[0]:
            # Without it Anneal takes the host for dead after 90 s.
            await send({"id": request["id"], "progress": "started"})
        await send(work.result())


if __name__ == "__main__":
    asyncio.run(main())
