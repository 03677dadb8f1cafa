/** `anneal info` and `anneal service list` */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { findLogin } from '../login.ts';
import { formatAge, formatDuration } from '@anneal/client/text/time.ts';
import { paintStatus } from '../print/status.ts';
import { exampleText, formatOption } from '../options/options.ts';

export function addInfoCommands(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('info')
    .description('show the server that the commands connect to')
    .addOption(formatOption())
    .addHelpText('after', exampleText('info', 'info -o json'))
    .action(async ({ output: format }) => {
      const { info } = await import('@anneal/client/connect.ts');
      const login = await findLogin(context);
      const answer = { auth_url: login.authUrl, ...(await info({ url: login.authUrl, signal: context.interrupt })) };
      output.one(format, answer, () => Object.entries(answer).map(([key, value]) => [key, value]));
    });
  program
    .command('service')
    .description('inspect the services of the server')
    .command('list')
    .description('list the services, with health, version, start and shards of each replica')
    .addOption(formatOption())
    .addHelpText('after', exampleText('service list'))
    .action(async ({ output: format }) => {
      const services = await (await context.client()).services();
      if (format !== 'table') {
        output.value(format, services);
        return;
      }
      const { remarksOn, serviceReplicas, rangesText } = await import('@anneal/client/replica-rows.ts');
      output.list(format, {
        rows: serviceReplicas(services),
        none: 'No services.',
        note: 'reason',
        columns: {
          service: ({ service }) => service.name,
          status: ({ status }, colors) => paintStatus(status, colors),
          version: ({ replica }) => replica?.version,
          process: ({ replica }) => replica && `${replica.machine} ${replica.pid}`,
          up: ({ replica }) => replica && formatAge(replica.started_at, context.now()),
          shards: ({ replica }) => rangesText(replica?.shards ?? []),
          // The numbers of a service are in its first row.
          waiting: ({ service, isFirst }) => (isFirst ? service.depth : undefined),
          oldest: ({ service, isFirst }) =>
            isFirst && typeof service.oldest_age_ms === 'number' ? formatDuration(service.oldest_age_ms) : undefined,
          reason: ({ replica }) => replica?.reason,
        },
      });
      for (const remark of remarksOn(services)) output.note(remark);
    });
}
