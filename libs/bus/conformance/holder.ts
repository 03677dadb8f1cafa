/**
 * A member of a bus in a separate process: it wants to be the single active consumer of each given queue, reports which
 * queues it owns and, on request, finishes the messages that it takes or never does.
 */
import { openStore } from '@anneal/store/open.ts';
import { openTestBus } from './open.ts';

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
