/** Work of the bench of stacks: what a client asks of the server, and its wait until all of it is done. */
import { setTimeout as delay } from 'node:timers/promises';
import { bundle, type TestServer } from '../../e2e/server.ts';
import { timed, type Step } from '../server-use.ts';

const limitMs = 900_000;
const pollMs = 5;

/** Waits for the state, and reads it without the outputs, because each read of those evaluates them. */
export async function untilStatus(
  server: Pick<TestServer, 'client'>,
  { stack, status, everyMs = pollMs }: { stack: string; status: string; everyMs?: number },
): Promise<void> {
  for (const end = performance.now() + limitMs; ; await delay(everyMs)) {
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

/** An action: its time until the server has answered the request, and until it is complete. */
export interface Answered {
  /** In seconds. */
  readonly accepted: number;
  readonly complete: Step;
}

async function answered(
  server: TestServer,
  request: () => Promise<unknown>,
  end: () => Promise<void>,
): Promise<Answered> {
  let accepted = NaN;
  const complete = await timed(server, async () => {
    const start = performance.now();
    await request();
    accepted = (performance.now() - start) / 1000;
    await end();
  });
  return { accepted, complete };
}

export const create = (server: TestServer, name: string, template: string): Promise<Answered> =>
  answered(
    server,
    () => server.client.stacks.create({ name, bundle: bundle(template) }),
    () => untilStatus(server, { stack: name, status: 'CREATE_COMPLETE' }),
  );

/** Sends the template, or only other parameters for the template that the stack has. */
export const update = (
  server: TestServer,
  stack: string,
  change: { template: string } | { parameters: Record<string, string> },
): Promise<Answered> =>
  answered(
    server,
    () => {
      const sent = 'template' in change ? { bundle: bundle(change.template) } : { ...change, existing: true };
      return server.client.stacks.update({ stack, ...sent });
    },
    // The stack is in progress when the server has answered, so the state of the update before does not count.
    () => untilStatus(server, { stack, status: 'UPDATE_COMPLETE' }),
  );

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
