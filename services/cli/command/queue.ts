/** `anneal queue …` */
import { byNaturalOrder } from '@anneal/contracts/natural-order.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@anneal/client/connect.ts';
import type { QueueRow } from '@anneal/client/representation.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { keepsAnswers, shownQueueKind, shownQueueName } from '@anneal/client/text/queue-name.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { exampleText, formatOption, positiveInteger } from '../options/options.ts';

type Queue = Command;
type Rates = ReadonlyMap<string, { readonly in: number; readonly out: number }>;

export function addQueueCommands(program: Command, context: CliContext): void {
  const queue = program.command('queue').description('inspect and use the queues of services, hosts and users');
  addList(queue, context);
  addReads(queue, context);
  addWrites(queue, context);
}

const oldest = ({ oldest_age_ms }: QueueRow): string => (oldest_age_ms === null ? '' : formatDuration(oldest_age_ms));
const perSecond = (rate: number | undefined): string => (rate === undefined ? '' : `${rate.toFixed(1)}/s`);

/** Messages per second between two readings. The queues of services have no total. */
export function ratesOf(before: readonly QueueRow[], after: readonly QueueRow[], seconds: number): Rates {
  const first = new Map(before.map((row) => [row.name, row]));
  const held = ({ depth, in_flight }: QueueRow): number => depth + in_flight;
  return new Map(
    after.flatMap((row) => {
      const earlier = first.get(row.name);
      if (row.received == null || earlier?.received == null) return [];
      const received = row.received - earlier.received;
      const left = received - (held(row) - held(earlier));
      return [[row.name, { in: received / seconds, out: left / seconds }] as const];
    }),
  );
}

function addList(queue: Queue, context: CliContext): void {
  const { output } = context;
  queue
    .command('list')
    .description('list queues and the number of messages that wait in each')
    .option('--host <host>', 'only the queues of this host')
    .option('--nonempty', 'only queues that hold messages')
    .option('--rates <seconds>', 'measure messages in and out per second for this time', positiveInteger)
    .addOption(formatOption())
    .addHelpText('after', exampleText('queue list', 'queue list --nonempty --rates 5', 'queue list --host web -o json'))
    .action(async ({ host, nonempty, rates: seconds, output: format }) => {
      const client = await context.parts(['hosts', 'queues']);
      const id = host === undefined ? undefined : (await client.hosts.show({ host })).id;
      const before = seconds === undefined ? [] : await client.queues.list();
      const start = performance.now();
      if (seconds !== undefined) await sleep(seconds * 1000, undefined, { signal: context.interrupt });
      const found = await client.queues.list();
      const rates = ratesOf(before, found, (performance.now() - start) / 1000);
      const rows = found
        .toSorted((a, b) => rankOf(a) - rankOf(b) || byNaturalOrder(a.name, b.name))
        .filter((row) => id === undefined || row.host_id === id)
        .filter((row) => nonempty !== true || row.depth + row.in_flight > 0)
        .map((row) => ({ ...row, ...(seconds !== undefined && { rates: rates.get(row.name) ?? null }) }));
      const hosts = format === 'table' && rows.some((row) => row.host_id) ? await client.hosts.list() : [];
      const hostNames = new Map(hosts.map((one) => [one.id, one.name]));
      output.list(format, {
        rows,
        none: 'No queues.',
        key: 'name',
        columns: {
          name: (row) => shownQueueName(row, hostNames),
          kind: shownQueueKind,
          depth: (row) => row.depth,
          'in flight': (row) => row.in_flight,
          consumers: (row) => row.consumers,
          oldest,
          ...(seconds !== undefined && {
            in: (row: QueueRow) => perSecond(rates.get(row.name)?.in),
            out: (row: QueueRow) => perSecond(rates.get(row.name)?.out),
          }),
        },
      });
    });
}

/** Queues of users and hosts first, then those of services, of which most are idle, and answers that are kept. */
const rankOf = (row: QueueRow): number => (keepsAnswers(row) ? 2 : row.kind === 'service' ? 1 : 0);

function addReads(queue: Queue, context: CliContext): void {
  const { output } = context;
  queue
    .command('show <queue>')
    .description('show a queue: messages that wait, messages in flight, age of the oldest')
    .addOption(formatOption())
    .addHelpText('after', exampleText('queue show web-serv1.requests'))
    .action(async (name, { output: format }) => {
      const row = await (await context.part('queues')).show({ queue: name });
      output.one(format, row, () => [
        ['name', row.name],
        ['kind', row.kind],
        ['depth', row.depth],
        ['in flight', row.in_flight],
        ['consumers', row.consumers],
        ['oldest', oldest(row)],
        ['received', row.received ?? null],
      ]);
    });
  queue
    .command('peek <queue>')
    .description('print the first messages without claiming them')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 10)
    .addOption(formatOption())
    .addHelpText('after', exampleText('queue peek anneal.scheduling.shard.0', 'queue peek web-serv1.requests -o json'))
    .action(async (name, { limit, output: format }) => {
      const rows = await (await context.part('queues')).peek({ queue: name, limit });
      output.list(format, {
        rows,
        none: `${name} is empty.`,
        columns: {
          content: (row) => JSON.stringify(row['data'] ?? row['body'] ?? null),
          type: (row) => (typeof row['type'] === 'string' ? row['type'] : ''),
          id: (row) => row.id,
        },
      });
    });
  queue
    .command('watch <queue>')
    .description('print each message as it arrives, until Ctrl-C')
    .addOption(formatOption())
    .addHelpText('after', exampleText('queue watch web-serv1.requests', 'queue watch web-serv1.responses -o json'))
    .action(async (name, { output: format }) => {
      const queues = await context.part('queues');
      for await (const { id, data } of queues.watch({ queue: name, signal: context.interrupt })) {
        if (format === 'yaml') output.value('yaml', [data]);
        else output.line(format === 'json' ? JSON.stringify(data) : `${output.colors.dim(id)} ${JSON.stringify(data)}`);
      }
    });
}

function addWrites(queue: Queue, context: CliContext): void {
  const { output } = context;
  queue
    .command('publish <queue> <body>')
    .description('append a message to a queue of a user or a host; the body is JSON')
    .option('--create', 'create the queue of a user if it does not exist')
    .option('--ttl <seconds>', 'time to live of the message (default: 3600)', positiveInteger)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(`queue publish work '{"job": 7}' --create`, `queue publish work '"a text"' --ttl 600`),
    )
    .action(async (name, text, { create, ttl, output: format }) => {
      const messages = [{ body: readJson(text), ttl }];
      const client = await context.client();
      if (create !== true) await existing(client, name);
      const [id = ''] = await client.queues.publish({ queue: name, messages });
      output.one(format, { id, queue: name }, () => [
        ['id', id],
        ['queue', name],
      ]);
    });
  queue
    .command('purge <queue>')
    .description('remove all messages of a queue; requests that a deployment waits for stay')
    .addOption(yesOption())
    .addHelpText('after', exampleText('queue purge work'))
    .action(async (name, { yes }) => {
      await confirm(context, { yes, what: () => [`Remove all messages of queue ${name}, permanently.`] });
      await (await context.part('queues')).purge({ queue: name });
      output.line(`${name} is purged.`);
    });
}

/** The API creates a queue at its first message, so a mistyped name would lose the message. @throws AnnealError NotFound */
async function existing(client: Client, queue: string): Promise<void> {
  await client.queues.show({ queue }).catch((error: unknown) => {
    if (!hasCode(error, 'NotFound')) throw error;
    const { mistakes } = error;
    throw new AnnealError('NotFound', `${error.message} Nothing was published; --create creates the queue.`, {
      cause: error,
      ...(mistakes && { mistakes }),
    });
  });
}

/** @throws AnnealError InvalidRequest */
function readJson(text: string): Json {
  try {
    return parseExact(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AnnealError('InvalidRequest', `Cannot publish: the body is not JSON: ${why}. Quote a text: '"text"'.`);
  }
}
