/**
 * A member of a bus in a process of its own: wants to be the one active consumer of each queue given, tells which it is of,
 * and, as it is asked to, finishes what it takes or never does.
 */
import { openStore } from '@anneal/store/open.ts';
import { openTestBus } from './conformance-open.ts';

const [url = '', storeUrl = '', ...queues] = process.argv.slice(2);
const bus = await openTestBus({ url, store: await openStore({ url: storeUrl }), source: 'anneal/holder' });
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
