/**
 * Names of existing objects for completion. Reads the answers without schemas, because a shell asks at a key press and
 * zod would take half of the time. Gives up when the server is slow.
 */
import type { GatewayConnection, GatewayService } from '@anneal/client/connection.ts';
import { shownQueueName } from '@anneal/client/text/queue-name.ts';
import { isObject } from '@anneal/contracts/plain-json.ts';
import { hasMembers } from '@anneal/hot/groups/kind.ts';
import type { CliContext } from '../context.ts';
import type { Noun } from './complete.ts';

/** The longest wait after a user presses the tab key. */
const patienceMs = 1500;
/** The stacks whose groups are read, because each costs a call. */
const mostStacks = 50;

/** A list of an API, and the fields of a row by which commands name an object, the best first. */
interface NamedList {
  readonly service?: GatewayService;
  readonly path: string;
  readonly field: string;
  readonly names: readonly string[];
}

const lists: Readonly<Partial<Record<Noun, NamedList>>> = {
  stack: { service: 'orchestration', path: '/stacks', field: 'stacks', names: ['stack_name'] },
  node: { service: 'baremetal', path: '/v1/nodes', field: 'nodes', names: ['name', 'uuid'] },
  'inspection-rule': {
    service: 'baremetal',
    path: '/v1/inspection_rules',
    field: 'inspection_rules',
    names: ['uuid'],
  },
  host: { path: '/hosts', field: 'hosts', names: ['name'] },
  deployment: { path: '/deployments', field: 'deployments', names: ['id'] },
  context: { path: '/contexts', field: 'contexts', names: ['name'] },
  alarm: { path: '/alarms', field: 'alarms', names: ['name', 'id'] },
  subscription: { path: '/subscriptions', field: 'subscriptions', names: ['name', 'id'] },
  'dead-letter': { path: '/dead-letters', field: 'dead_letters', names: ['id'] },
  workflow: { path: '/workflows', field: 'workflows', names: ['name'] },
  execution: { path: '/executions', field: 'executions', names: ['id'] },
  image: { path: '/images', field: 'images', names: ['name'] },
  credential: { path: '/credentials', field: 'credentials', names: ['name', 'id'] },
  project: { service: 'identity', path: '/projects', field: 'projects', names: ['name'] },
  user: { service: 'identity', path: '/users', field: 'users', names: ['name'] },
};

type Row = Readonly<Record<string, unknown>>;

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

async function ask(asked: {
  noun: Noun;
  context: CliContext;
  before: readonly string[];
  signal: AbortSignal;
}): Promise<readonly string[]> {
  const { noun, context, before, signal } = asked;
  if (noun === 'server') {
    const { readServers, serversFile } = await import('../servers.ts');
    return Object.keys((await readServers(serversFile(context.environment))).servers);
  }
  if (noun === 'type') {
    const { listTypes } = await import('../template/types.ts');
    // Without the note that no server answers, which the command itself prints.
    const quiet = { ...context, output: { ...context.output, note: () => undefined } };
    return (await listTypes({ context: quiet })).map((row) => row.resource_type);
  }
  const connection = await context.part('connection', { signal });
  const rows: Rows = async ({ service = 'api', path, field }) => {
    // Inspection rules exist since this microversion.
    const headers = { 'x-openstack-ironic-api-version': '1.96' };
    const body = await connection.json({ service, path, headers, signal, what: `list the ${field}` });
    const found: unknown = isObject(body) ? body[field] : undefined;
    return Array.isArray(found) ? found.filter(isObject) : [];
  };
  const list = lists[noun];
  if (list) return namesOf(await rows(list), list.names);
  switch (noun) {
    case 'tag': {
      const stacks = await rows({ service: 'orchestration', path: '/stacks', field: 'stacks' });
      return [...new Set(stacks.flatMap(({ tags }) => (Array.isArray(tags) ? tags.map(String) : [])))];
    }
    case 'queue':
      return queueNames(rows);
    case 'token': {
      const path = `/users/${connection.user.id}/application_credentials`;
      return namesOf(await rows({ service: 'identity', path, field: 'application_credentials' }), ['name', 'id']);
    }
    case 'group':
      return before.length > 0 ? groupsIn(rows, await pathOf(connection, before, signal)) : groupPaths(rows);
    default:
      return before.length > 0 ? partsOf({ noun, rows, before, stack: await pathOf(connection, before, signal) }) : [];
  }
}

type Rows = (list: Omit<NamedList, 'names'>) => Promise<Row[]>;

const textAt = (row: Row, name: string): string[] => {
  const value = row[name];
  return typeof value === 'string' && value !== '' ? [value] : [];
};
/** The first name that a row has. */
const namesOf = (rows: readonly Row[], names: readonly string[]): string[] =>
  rows.flatMap((row) => names.flatMap((name) => textAt(row, name)).slice(0, 1));

/** The path of the stack that the line names, by its name or its id. */
async function pathOf(
  connection: GatewayConnection,
  [stack = '']: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const path = `/stacks/${encodeURIComponent(stack)}`;
  const body = await connection.json({ service: 'orchestration', path, signal, what: `find the stack ${stack}` });
  const found = isObject(body) && isObject(body['stack']) ? body['stack'] : {};
  const [name = stack] = textAt(found, 'stack_name');
  return `/stacks/${encodeURIComponent(name)}/${textAt(found, 'id').join('')}`;
}

/** The parts of the stack at a path. `before`: the name of the stack, then that of a resource. */
async function partsOf(asked: {
  noun: Noun;
  rows: Rows;
  before: readonly string[];
  stack: string;
}): Promise<readonly string[]> {
  const { noun, rows, before, stack } = asked;
  const part = (field: string) => rows({ service: 'orchestration', path: `${stack}/${field}`, field });
  switch (noun) {
    case 'resource':
      return namesOf(await part('resources'), ['resource_name']);
    case 'hook':
      return (await part('resources'))
        .filter(({ resource_name: name }) => name === before[1])
        .flatMap(({ hook }) => (isObject(hook) ? textAt(hook, 'name') : []));
    case 'output':
      return namesOf(await part('outputs'), ['output_key']);
    case 'snapshot':
      return namesOf(await part('snapshots'), ['name', 'id']);
    default:
      return [];
  }
}

async function groupsIn(rows: Rows, stack: string): Promise<string[]> {
  const resources = await rows({ service: 'orchestration', path: `${stack}/resources`, field: 'resources' });
  return namesOf(
    resources.filter((row) => textAt(row, 'resource_type').some(hasMembers)),
    ['resource_name'],
  );
}

/** The groups of all stacks, as `stack/group`. Groups inside nested stacks are left out. */
async function groupPaths(rows: Rows): Promise<string[]> {
  const stacks = await rows({ service: 'orchestration', path: '/stacks', field: 'stacks' });
  const found = await Promise.all(
    stacks.slice(0, mostStacks).map(async (row) => {
      const [name = ''] = textAt(row, 'stack_name');
      const groups = await groupsIn(rows, `/stacks/${encodeURIComponent(name)}/${textAt(row, 'id').join('')}`);
      return groups.map((group) => `${name}/${group}`);
    }),
  );
  return found.flat();
}

/** The names of the queues, those of hosts with the name of the host. */
async function queueNames(rows: Rows): Promise<string[]> {
  // A user who may not read hosts still completes the other queues.
  const [queues, hosts] = await Promise.all([
    rows({ path: '/queues', field: 'queues' }),
    rows({ path: '/hosts', field: 'hosts' }).catch(() => []),
  ]);
  const names = new Map(hosts.map((row) => [textAt(row, 'id').join(''), textAt(row, 'name').join('')]));
  return queues.map((row) =>
    shownQueueName({ name: textAt(row, 'name').join(''), host_id: textAt(row, 'host_id')[0] }, names),
  );
}
