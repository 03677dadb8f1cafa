/** A process that is the active consumer of a queue and never finishes what it takes. */
import { silent, testRegistry } from '@anneal/bus/conformance-messages.ts';
import { openBus } from '@anneal/bus/open.ts';
import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';

const [url = '', storeUrl = ''] = process.argv.slice(2);
const bus = await openBus({
  url,
  source: 'anneal/holder',
  store: await openStore({ url: storeUrl }),
  registry: testRegistry,
  newId: randomUUID,
  now: () => new Date(),
  log: silent,
});
await bus.consume('test.q', () => new Promise(() => undefined), {
  singleActive: true,
  concurrency: 1,
  onActive: (active) => process.stdout.write(`${active}\n`),
});
