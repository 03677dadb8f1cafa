"""Runs the configs of one host from NATS, one at a time and in order.

    anneal host credentials web1 -o json > access.json
    python3 host_nats.py --access access.json --journal journal

It ends for good, with status 0, when Anneal deletes the host.
"""

import asyncio
import json
import threading

import nats
from nats.errors import Error as NatsError

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
    stop = threading.Event()
    arrival = asyncio.create_task(subscription.next_msg(timeout=None))
    work, waiting = None, []
    while True:
        done, _ = await asyncio.wait({arrival, *([work[1]] if work else [])}, timeout=heartbeat, return_when=asyncio.FIRST_COMPLETED)
        if arrival in done:
            message = json.loads(arrival.result().data)
            if message.get("deleted"):
                stop.set()
                if work:
                    await work[1]
                print("deleted", flush=True)
                return
            waiting.append(message)
            arrival = asyncio.create_task(subscription.next_msg(timeout=None))
        if work and work[1].done():
            await send(work[1].result())
            work = None
        if not work and waiting:
            request = waiting.pop(0)
            await send({"id": request["id"], "progress": "started"})
            work = (request["id"], asyncio.create_task(asyncio.to_thread(journal.answer, request, stop)))
        elif not done:
            # Without it Anneal takes the host for dead after 90 s.
            await send({"id": work[0], "progress": "started"} if work else {"hello": True})


if __name__ == "__main__":
    asyncio.run(main())
