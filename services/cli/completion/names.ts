/** Names of existing objects for completion. Gives up when the server is slow. */
import type { Client } from '@anneal/client/connect.ts';
import { shownQueueName } from '@anneal/client/text/queue-name.ts';
import { hasMembers } from '@anneal/hot/groups/kind.ts';
import type { CliContext } from '../context.ts';
import type { Noun } from './complete.ts';

/** The longest wait after a user presses the tab key. */
const patienceMs = 1500;

/** @param before the arguments of the command in front of the cursor; the first is the stack of a resource */
export async function namesFor(
  noun: Noun,
  context: CliContext,
  before: readonly string[] = [],
): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(patienceMs);
  const { promise: late, resolve } = Promise.withResolvers<readonly string[]>();
  signal.addEventListener('abort', () => resolve([]), { once: true });
  // A server that is down or slow must not spoil the command line with an error.
  return Promise.race([ask({ noun, context, before, signal }).catch(() => []), late]);
}

async function ask({
  noun,
  context,
  before,
  signal,
}: {
  noun: Noun;
  context: CliContext;
  before: readonly string[];
  signal: AbortSignal;
}): Promise<readonly string[]> {
  // Each noun loads only its part of the client.
  switch (noun) {
    case 'stack':
      return (await (await context.part(['stacks'], { signal })).stacks.list({ signal })).map((row) => row.stack_name);
    case 'resource': {
      const [stack] = before;
      if (stack === undefined) return [];
      const { stacks } = await context.part(['stacks'], { signal });
      return (await stacks.resources({ stack })).map((row) => row.resource_name);
    }
    case 'tag': {
      const { stacks } = await context.part(['stacks'], { signal });
      return [...new Set((await stacks.list({ signal })).flatMap((row) => row.tags ?? []))];
    }
    case 'group':
      return groups((await context.part(['stacks'], { signal })).stacks, signal);
    case 'node':
      return (await (await context.part(['nodes'], { signal })).nodes.list({ signal })).map(
        (row) => row.name ?? row.uuid,
      );
    case 'host':
      return (await (await context.part(['hosts'], { signal })).hosts.list({ signal })).map((row) => row.name);
    case 'queue':
      return queueNames(await context.part(['queues', 'hosts'], { signal }), signal);
    case 'deployment':
      return (await (await context.part(['deployments'], { signal })).deployments.list()).map((row) => row.id);
    case 'context':
      return (await (await context.part(['contexts'], { signal })).contexts.list({ signal })).map((row) => row.name);
    case 'alarm':
      return (await (await context.part(['alarms'], { signal })).alarms.list({ signal })).map((row) => row.id);
    case 'type': {
      const { listTypes } = await import('../template/types.ts');
      return (await listTypes({ context })).map((row) => row.resource_type);
    }
    case 'server': {
      const { readServers, serversFile } = await import('../servers.ts');
      return Object.keys((await readServers(serversFile(context.environment))).servers);
    }
    case 'subscription':
      return (await (await context.part(['subscriptions'], { signal })).subscriptions.list()).map(
        ({ name, id }) => name || id,
      );
    case 'dead-letter':
      return (await (await context.part(['deadLetters'], { signal })).deadLetters.list()).map((row) => row.id);
  }
}

/** The groups of the stacks, as `stack/group`. Groups inside nested stacks are left out, because each level costs a call. */
async function groups(calls: Client['stacks'], signal: AbortSignal): Promise<string[]> {
  const stacks = await calls.list({ signal });
  const found = await Promise.all(
    stacks.slice(0, 50).map(async ({ id, stack_name: name }) => {
      const resources = await calls.resources({ stack: id });
      const own = resources.filter(({ resource_type: type }) => hasMembers(type));
      return own.map(({ resource_name: group }) => `${name}/${group}`);
    }),
  );
  return found.flat();
}

/** The names of the queues, those of hosts with the name of the host. */
async function queueNames({ queues, hosts }: Pick<Client, 'queues' | 'hosts'>, signal: AbortSignal): Promise<string[]> {
  // A user who may not read hosts still completes the other queues.
  const [rows, known] = await Promise.all([queues.list({ signal }), hosts.list({ signal }).catch(() => [])]);
  const names = new Map(known.map(({ id, name }) => [id, name]));
  return rows.map((row) => shownQueueName(row, names));
}
