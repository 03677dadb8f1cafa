/**
 * A process that writes until it is killed, and prints the name of each write once the store confirms it as durable.
 */
import { openStore } from '../open.ts';

const [url = ''] = process.argv.slice(2);
const store = await openStore({ url });
const collection = await store.collection<{ id: string; version: number; n: number }>({
  name: 'test_kill',
  indexes: [],
});
const write = async (id: string, n: number): Promise<void> => {
  await collection.insert({ id, n });
  process.stdout.write(`${id}\n`);
};
for (let n = 0; ; n += 1) await Promise.all([write(`${n}-a`, n), write(`${n}-b`, n)]);
