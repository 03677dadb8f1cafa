/**
 * Keeps the configuration file of a load balancer correct while a group grows and shrinks. Uses only `libs/client`.
 *
 * B1 The program reads the members of the group after events, and writes those that are in service. An event is only the
 *    reason to read, so that a repeated or late event does no harm. One read serves all events that wait, so that the
 *    program keeps up while a group changes many members.
 * B2 A member that is about to be deleted waits at the lifecycle hook `terminating`. The program takes it out of the file
 *    first, and completes the hook then. So no deleted member is ever in the file.
 * B3 The program stores the id of the last event that it has handled. After a restart it continues there, so that it
 *    completes a hook that it had not completed.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { parseArgs, promisify } from 'node:util';
import { connect, type Client } from '@anneal/client/connect.ts';
import type { Resource } from '@anneal/client/representation.ts';
import type { AnnealEvent } from '@anneal/client/events.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { balancerText, replaceFile, type BalancerMember } from './balancer.ts';

const { values } = parseArgs({
  options: {
    stack: { type: 'string' },
    group: { type: 'string' },
    file: { type: 'string' },
    /** The attribute of a member that has its address. */
    attribute: { type: 'string', default: 'first_address' },
    port: { type: 'string', default: '80' },
    /** A command without arguments that makes the load balancer read the file again. */
    reload: { type: 'string' },
  },
});
const required = (name: 'stack' | 'group' | 'file'): string => {
  const value = values[name];
  if (value !== undefined) return value;
  process.stderr.write(`Missing --${name}. See examples/paas-listener/README.md.\n`);
  return process.exit(2);
};
const wanted = { stack: required('stack'), group: required('group'), file: required('file') };
const cursorFile = `${wanted.file}.cursor`;

const isAtEnd = ({ hook }: Resource): boolean => hook?.name === 'terminating';
const inService = (member: Resource): boolean =>
  member.resource_status.endsWith('_COMPLETE') && !/^(DELETE|INIT)_/.test(member.resource_status) && !isAtEnd(member);

async function membersOf(client: Client): Promise<BalancerMember[]> {
  const rows = await client.stacks.resources({ stack: wanted.stack, depth: 1, detail: true });
  return rows
    .filter((row) => row.parent_resource === wanted.group && inService(row))
    .flatMap(({ resource_name: name, attributes }): BalancerMember[] => {
      const address = attributes?.[values.attribute];
      return typeof address === 'string' ? [{ name, address }] : [];
    });
}

/** The value of a call for something that no longer exists. */
function absent(error: unknown): undefined {
  if (error instanceof AnnealError && error.code === 'NotFound') return undefined;
  throw error;
}

let written: string | undefined;

/** B1 */
async function refresh(client: Client): Promise<void> {
  const members = await membersOf(client).catch(absent);
  const text = balancerText(wanted.stack, members ?? [], Number(values.port));
  if (text === written) return;
  await replaceFile(wanted.file, text);
  if (values.reload !== undefined) await promisify(execFile)(values.reload);
  written = text;
  process.stdout.write(`${JSON.stringify({ members: members?.length ?? 0 })}\n`);
}

/** B2 */
async function handle(client: Client, events: readonly AnnealEvent[]): Promise<void> {
  await refresh(client);
  for (const event of events) await letGo(client, event);
}

/** Completes the hook at which a member waits for its deletion. */
async function letGo(client: Client, event: AnnealEvent): Promise<void> {
  if (event.type !== 'resource.lifecycle.waiting' || event.data.transition !== 'terminating') return;
  const { stack_id: stack, resource_name: resource, hook, token } = event.data;
  try {
    await client.actions.actOn({ stack, resource, action: { kind: 'complete hook', hook, token, result: 'continue' } });
  } catch (error) {
    // The hook was completed before, by this program or its deadline.
    if (!(error instanceof AnnealError) || !['Conflict', 'NotFound'].includes(error.code)) throw error;
  }
}

/** Repeats a step while the server restarts. Any other failure ends the program. */
async function untilDone(step: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let pause = 100; !signal.aborted; pause = Math.min(pause * 2, 5_000)) {
    try {
      await step();
      return;
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind !== 'retry') throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

async function main(): Promise<void> {
  const { OS_AUTH_URL = '', OS_USERNAME = '', OS_PASSWORD = '', OS_PROJECT_NAME = '' } = process.env;
  const login = { authUrl: OS_AUTH_URL, username: OS_USERNAME, password: OS_PASSWORD, project: OS_PROJECT_NAME };
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const { signal } = stop;
  let client: Client | undefined;
  await untilDone(async () => {
    client = await connect(login);
    await refresh(client);
  }, signal);
  if (!client) return;
  const connected = client;
  // B3
  const after = await readFile(cursorFile, 'utf8').catch(() => 'beginning');
  const onGap = (): void => void process.stderr.write('events were lost; the members are read again\n');
  const scope = { stack: wanted.stack, group: `${wanted.stack}/${wanted.group}`, types: ['resource.#', 'group.#'] };
  for await (const events of connected.events.batches({ ...scope, after, onGap, signal })) {
    await untilDone(() => handle(connected, events), signal);
    const last = events.at(-1)?.id;
    if (!signal.aborted && last !== undefined) await replaceFile(cursorFile, last);
  }
}

await main();
