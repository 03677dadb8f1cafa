/** `anneal queue …` */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { formatDuration } from '../print/time.ts';
import { exampleText, formatOption, positiveInteger } from './options.ts';

export function addQueueCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const queue = program.command('queue').description('inspect the queues of services, hosts and users');
  queue
    .command('list')
    .description('list queues and the number of messages that wait in each')
    .addOption(formatOption())
    .addHelpText('after', exampleText('queue list', 'queue list -o json'))
    .action(async ({ output: format }) => {
      const rows = await (await context.client()).queues.list();
      output.list(format, {
        rows,
        none: 'No queues.',
        columns: {
          name: (row) => row.name,
          kind: (row) => row.kind,
          depth: (row) => row.depth,
          'in flight': (row) => row.in_flight,
          consumers: (row) => row.consumers,
          oldest: (row) => (row.oldest_age_ms === null ? '' : formatDuration(row.oldest_age_ms)),
        },
      });
    });
  queue
    .command('peek <queue>')
    .description('print the first messages without claiming them')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 10)
    .addOption(formatOption())
    .addHelpText('after', exampleText('queue peek anneal.scheduling.shard.0', 'queue peek web-serv1.requests -o json'))
    .action(async (name, { limit, output: format }) => {
      const rows = await (await context.client()).queues.peek({ queue: name, limit });
      output.list(format, {
        rows,
        none: `${name} is empty.`,
        columns: {
          id: (row) => row.id,
          type: (row) => (typeof row['type'] === 'string' ? row['type'] : ''),
          content: (row) => clip(JSON.stringify(row['data'] ?? row['body'] ?? null), Math.max(40, output.width - 80)),
        },
      });
    });
  queue
    .command('watch <queue>')
    .description('print each message as it arrives, until Ctrl-C')
    .addOption(formatOption())
    .addHelpText('after', exampleText('queue watch web-serv1.requests', 'queue watch web-serv1.responses -o json'))
    .action(async (name, { output: format }) => {
      const client = await context.client();
      for await (const { id, data } of client.queues.watch({ queue: name, signal: context.interrupt })) {
        if (format === 'yaml') output.value('yaml', [data]);
        else output.line(format === 'json' ? JSON.stringify(data) : `${output.colors.dim(id)} ${JSON.stringify(data)}`);
      }
    });
}

const clip = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
