import { PassThrough, Writable } from 'node:stream';
import type { Duplex } from 'node:stream';
import type { Connection } from 'amqplib';
import { expect, it } from 'vitest';
import { WriteBatch } from './write-batch.ts';

/** A socket that records its system calls, and a channel that writes to it as the driver does: in an immediate. */
function socket() {
  const calls: string[][] = [];
  const stream = new Writable({
    writev(chunks, done) {
      calls.push(chunks.map(({ chunk }) => String(chunk)));
      done();
    },
  });
  const channel = new PassThrough({ objectMode: true });
  let isScheduled = false;
  channel.on('readable', () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (let frame: unknown; (frame = channel.read()) !== null;) stream.write(frame);
    });
  });
  return { calls, stream, channel };
}

const batchOf = (stream: Writable): WriteBatch =>
  new WriteBatch({ stream: stream as Duplex, serverProperties: {} } as unknown as Connection);
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));

it('W1: the socket sends the frames of one turn together and in order, and those of a later turn separately', async () => {
  const { calls, stream, channel } = socket();
  const batch = batchOf(stream);
  for (const frame of ['a', 'b', 'c']) {
    channel.write(frame);
    batch.add();
  }
  expect(calls).toEqual([]);
  await turn();
  channel.write('d');
  batch.add();
  await turn();
  expect(calls).toEqual([['a', 'b', 'c'], ['d']]);
});

it('W1: the socket sends the frames that waited for space together', async () => {
  const { calls, stream } = socket();
  stream.on('drain', () => ['x', 'y', 'z'].forEach((frame) => stream.write(frame)));
  batchOf(stream);
  stream.emit('drain');
  await turn();
  expect(calls).toEqual([['x', 'y', 'z']]);
});

it('W2: the socket sends a frame that was not added', async () => {
  const { calls, stream, channel } = socket();
  batchOf(stream);
  channel.write('heartbeat');
  await turn();
  expect(calls).toEqual([['heartbeat']]);
});
