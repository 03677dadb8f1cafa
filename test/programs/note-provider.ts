/**
 * A provider of `Example::Note` as a program of its own, on any broker, built with the kit. `wait: true` makes a creation
 * that does not complete. Arguments: the URLs of the broker and of the store.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { openBus } from '@anneal/bus/open.ts';
import { routeMessages } from '@anneal/bus/consume/route.ts';
import { createMint } from '@anneal/contracts/envelope.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { Provider, type Decision, type WorkingDocument } from '@anneal/provider/provide.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { openStore } from '@anneal/store/open.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { v7 } from 'uuid';

interface NoteDocument extends WorkingDocument {
  readonly text?: string;
}

const queue = 'example.notes.requests';
const [busUrl = '', storeUrl = ''] = process.argv.slice(2);
const source = 'example.notes/kit';
const now = (): Date => new Date();
const log = createLog({ level: 'error', format: 'json' });
const store = await openStore({ url: storeUrl });
const bus = await openBus({ url: busUrl, source, store, registry, newId: v7, now, log });
const mint = createMint({ source, newId: v7, now });

let timers: Timers | undefined;
const provider = new Provider<NoteDocument>({
  context: { bus, mint, now, log },
  collection: await store.collection<NoteDocument>({ name: 'notes', indexes: [] }),
  timers: () => timers as Timers,
  timerOf: ({ id }) => ({ id, data: null }),
  decide: () => Promise.resolve({ kind: 'waiting', ms: 0 }),
  work: (document, { data }): Promise<Decision<NoteDocument>> => {
    if (document.action === 'delete') return Promise.resolve({ kind: 'complete' });
    // The test hides nothing, so no value is sealed.
    const { wait, text: given } = data.properties as JsonObject;
    if (wait === true) return Promise.resolve({ kind: 'waiting', ms: null, message: 'It waits.' });
    const text = typeof given === 'string' ? given : '';
    // A new value for each attempt, so that a repeat that works again is noticed.
    return Promise.resolve({
      kind: 'complete',
      physical_id: document.id,
      attributes: { text, made: v7() },
      change: { text },
    });
  },
});
timers = await createTimers({
  store,
  collection: 'notes_timers',
  permission: bus.permission,
  now: Date.now,
  onError: (error) => log.error({ err: error }, 'timer failed; retrying'),
  fire: ({ id }) => provider.wake(id),
});
const routes = providerRoutes({
  take: (action, message) => provider.take(action, message),
  signal: () => Promise.resolve(),
});
await bus.consume(queue, routeMessages(routes));
await announceTypes(
  { bus, mint },
  {
    provider: 'example.notes',
    queue,
    types: [
      {
        type: 'Example::Note',
        description: 'A text.',
        properties: {
          text: { type: 'String', default: '', update_allowed: true, description: 'The text.' },
          wait: { type: 'Boolean', default: false, description: 'The creation does not complete.' },
        },
        attributes: {
          text: { type: 'String', description: 'The text.' },
          made: { type: 'String', description: 'Another value for each creation and update.' },
        },
        actions: ['check'],
        supersedes: true,
        budget_seconds: 30,
      },
    ],
  },
);
