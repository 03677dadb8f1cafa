/** Names of existing objects for completion. Gives up when the server is slow. */
import type { Client } from '@anneal/client/connect.ts';
import type { CliContext } from '../context.ts';
import type { Noun } from './complete.ts';
import { hasMembers } from '@anneal/hot/groups/kind.ts';

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
    case 'tag':
      return [...new Set((await client.stacks.list({ signal })).flatMap((row) => row.tags ?? []))];
    case 'group':
      return groups(client, signal);
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
    case 'alarm':
      return (await client.alarms.list({ signal })).map((row) => row.id);
    case 'subscription':
      return (await client.subscriptions.list()).map((row) => row.id);
    case 'dead-letter':
      return (await client.deadLetters.list()).map((row) => row.id);
  }
}

/** The groups of the stacks, as `stack/group`. Groups inside nested stacks are left out, because each level costs a call. */
async function groups(client: Client, signal: AbortSignal): Promise<string[]> {
  const stacks = await client.stacks.list({ signal });
  const found = await Promise.all(
    stacks.slice(0, 50).map(async ({ id, stack_name: name }) => {
      const resources = await client.stacks.resources({ stack: id });
      const own = resources.filter(({ resource_type: type }) => hasMembers(type));
      return own.map(({ resource_name: group }) => `${name}/${group}`);
    }),
  );
  return found.flat();
}
