/**
 * A member of a bus in a separate process: it wants to be the single active consumer of each given queue, and to hold each
 * name that is given as `name:…`. It reports which of them it has, and never finishes a message.
 */
import { openStore } from '@anneal/store/open.ts';
import { openTestBus } from './open.ts';

const [url = '', storeUrl = '', ...queues] = process.argv.slice(2);
const bus = await openTestBus({ url, store: await openStore({ url: storeUrl }), source: 'anneal/holder' });
const active = new Set<string>();
const taken: string[] = [];
const tell = (): void => void process.stdout.write(`${JSON.stringify({ active: [...active], taken })}\n`);
await Promise.all(
  queues.map((queue) => {
    const onActive = (on: boolean): void => {
      if (on) active.add(queue);
      else active.delete(queue);
      tell();
    };
    if (queue.startsWith('name:')) return bus.hold(queue, onActive);
    const never = (): Promise<void> => {
      taken.push(queue);
      tell();
      return new Promise(() => undefined);
    };
    return bus.consume(queue, never, { singleActive: true, concurrency: 1, onActive });
  }),
);
