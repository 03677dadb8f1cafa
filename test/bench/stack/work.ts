/** Work of the bench of stacks: what a client asks of the server, and its wait until all of it is done. */
import { setTimeout as delay } from 'node:timers/promises';
import { bundle, type TestServer } from '../../e2e/server.ts';
import { timed, type Step } from '../server-use.ts';

const limitMs = 900_000;
const pollMs = 5;

/** Reads the state without the outputs, because each read of those evaluates them. */
async function reached(server: TestServer, stack: string, status: string): Promise<void> {
  for (const end = performance.now() + limitMs; ; await delay(pollMs)) {
    const { stack_status: now, stack_status_reason: reason } = await server.client.stacks.show({
      stack,
      outputs: false,
    });
    if (now === status) return;
    if (!now.endsWith('IN_PROGRESS')) throw new Error(`${stack} is ${now}, not ${status}: ${reason}`);
    if (performance.now() > end) throw new Error(`${stack} is still ${now}.`);
  }
}

/** Waits until the server lists so many stacks, all of them with this status. */
async function listed(server: TestServer, count: number, status: string): Promise<void> {
  for (const end = performance.now() + limitMs; ; await delay(pollMs)) {
    const stacks = await server.client.stacks.list();
    const failed = stacks.find(({ stack_status: now }) => now.endsWith('FAILED'));
    if (failed) throw new Error(`${failed.stack_name} is ${failed.stack_status}: ${failed.stack_status_reason}`);
    if (stacks.length === count && stacks.every(({ stack_status: now }) => now === status)) return;
    if (performance.now() > end) throw new Error(`Not all stacks are ${status}.`);
  }
}

/** A created stack: its time until the server has answered the request, and until it is complete. */
export interface Created {
  readonly accepted: number;
  readonly complete: Step;
}

export async function create(server: TestServer, name: string, template: string): Promise<Created> {
  let accepted = NaN;
  const complete = await timed(server, async () => {
    const start = performance.now();
    await server.client.stacks.create({ name, bundle: bundle(template) });
    accepted = (performance.now() - start) / 1000;
    await reached(server, name, 'CREATE_COMPLETE');
  });
  return { accepted, complete };
}

export const update = (server: TestServer, stack: string, template: string): Promise<Step> =>
  timed(server, async () => {
    // The state of the update before would look like the end of this one, but the server accepts an update first.
    await server.client.stacks.update({ stack, bundle: bundle(template) });
    await reached(server, stack, 'UPDATE_COMPLETE');
  });

export const remove = (server: TestServer, stack: string): Promise<Step> =>
  timed(server, async () => {
    await server.client.stacks.delete({ stack });
    await listed(server, 0, '');
  });

/** Creates many stacks at once, then deletes them at once. */
export async function crowd(
  server: TestServer,
  count: number,
  template: string,
): Promise<{ create: Step; delete: Step }> {
  const names = Array.from({ length: count }, (_, index) => `crowd${index}`);
  const created = await timed(server, async () => {
    await Promise.all(names.map((name) => server.client.stacks.create({ name, bundle: bundle(template) })));
    await listed(server, count, 'CREATE_COMPLETE');
  });
  const deleted = await timed(server, async () => {
    await Promise.all(names.map((stack) => server.client.stacks.delete({ stack })));
    await listed(server, 0, '');
  });
  return { create: created, delete: deleted };
}
