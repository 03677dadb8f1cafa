/**
 * A member of a bus in a process of its own: wants to be the one active consumer of each queue given, tells which it is of,
 * and, as it is asked to, finishes what it takes or never does.
 */
import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';
import { silent, testRegistry } from './conformance-messages.ts';
import { openBus } from './open.ts';

const [url = '', storeUrl = '', ...queues] = process.argv.slice(2);
const bus = await openBus({
  url,
  source: 'anneal/holder',
  store: await openStore({ url: storeUrl }),
  registry: testRegistry,
  newId: randomUUID,
  now: () => new Date(),
  log: silent,
});
const active = new Set<string>();
const taken: string[] = [];
const tell = (): void => void process.stdout.write(`${JSON.stringify({ active: [...active], taken })}\n`);
await Promise.all(
  queues.map((queue) =>
    bus.consume(
      queue,
      () => {
        taken.push(queue);
        tell();
        return new Promise(() => undefined);
      },
      {
        singleActive: true,
        concurrency: 1,
        onActive(on) {
          if (on) active.add(queue);
          else active.delete(queue);
          tell();
        },
      },
    ),
  ),
);
