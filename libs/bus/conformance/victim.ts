/** A process that takes a message and dies in the middle of the handler, without notice to the broker. */
import { openStore } from '@anneal/store/open.ts';
import { openTestBus } from './open.ts';

const [url = '', storeUrl = '', kind = 'queue', maxAttempts = '3'] = process.argv.slice(2);
const bus = await openTestBus({ url, store: await openStore({ url: storeUrl }), source: 'anneal/victim' });
const die = (): Promise<void> => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
};
const options = { maxAttempts: Number(maxAttempts), concurrency: 1 };
if (kind === 'queue') await bus.consume('test.q', die, options);
else await bus.subscribe(['test.#'], die, { ...options, group: 'test' });
// No message to take: the exit code shows the test that the process ended by itself.
setTimeout(() => process.exit(7), 5000);
