/** Names of existing objects for completion. Gives up when the server is slow. */
import type { CliContext } from '../context.ts';
import type { Noun } from './complete.ts';

/** The longest wait after a user presses the tab key. */
const patienceMs = 1500;

export async function namesFor(noun: Noun, context: CliContext): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(patienceMs);
  const { promise: late, resolve } = Promise.withResolvers<readonly string[]>();
  signal.addEventListener('abort', () => resolve([]), { once: true });
  // A server that is down or slow must not spoil the command line with an error.
  return Promise.race([ask(noun, context, signal).catch(() => []), late]);
}

async function ask(noun: Noun, context: CliContext, signal: AbortSignal): Promise<readonly string[]> {
  const client = await context.client({ signal });
  switch (noun) {
    case 'stack':
      return (await client.stacks.list({ signal })).map((row) => row.stack_name);
    case 'node':
      return (await client.nodes.list({ signal })).map((row) => row.name ?? row.uuid);
    case 'host':
      return (await client.hosts.list({ signal })).map((row) => row.name);
    case 'queue':
      return (await client.queues.list({ signal })).map((row) => row.name);
    case 'deployment':
      return (await client.deployments.list()).map((row) => row.id);
    case 'context':
      return (await client.contexts.list({ signal })).map((row) => row.name);
    case 'subscription':
      return (await client.subscriptions.list()).map((row) => row.id);
    case 'dead-letter':
      return (await client.deadLetters.list()).map((row) => row.id);
  }
}
