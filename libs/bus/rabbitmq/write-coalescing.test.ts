import { Writable } from 'node:stream';
import type { Duplex } from 'node:stream';
import type { Connection } from 'amqplib';
import { expect, it } from 'vitest';
import { corkWrites } from './write-coalescing.ts';

it('the socket sends writes of one turn together and in order, and writes of a later turn separately', async () => {
  const left: string[][] = [];
  const stream = new Writable({
    writev(chunks, done) {
      left.push(chunks.map(({ chunk }) => String(chunk)));
      done();
    },
  });
  corkWrites({ stream: stream as Duplex, serverProperties: {} } as unknown as Connection);
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  for (const text of ['a', 'b', 'c']) stream.write(text);
  expect(left).toEqual([]);
  await turn();
  stream.write('d');
  await turn();
  expect(left).toEqual([['a', 'b', 'c'], ['d']]);
});
