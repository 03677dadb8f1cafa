/** `anneal host …` */
import type { HostView, UnexpectedAnswer } from '@anneal/contracts/configuration.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge } from '../print/time.ts';
import { exampleText, formatOption } from './options.ts';

/** `2 × request abc of web-config, last at …: why` */
function unexpectedLine({ count, request_id, deployment, last_at, reason }: UnexpectedAnswer): string {
  const of = deployment === null ? '' : ` of ${deployment}`;
  return `${count} × request ${request_id}${of}, last at ${last_at}: ${reason}`;
}

export function addHostCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const host = program.command('host').description('inspect hosts, the machines that take configs from their queues');
  const fields = (shown: HostView): (readonly [string, string | number | null])[] => [
    ['name', shown.name],
    ['id', shown.id],
    ['status', paintStatus(shown.status, output.colors)],
    ['pending', shown.pending],
    ['last seen', shown.last_seen_at],
    ['requests', shown.requests_queue],
    ['responses', shown.responses_queue],
    ...(shown.unexpected_total ? [['unexpected answers', shown.unexpected_total] as const] : []),
    ...(shown.unexpected_answers ?? []).map(
      (answer) => [answer.alarm ? `ALARM ${answer.kind}` : answer.kind, unexpectedLine(answer)] as const,
    ),
    ...(shown.facts_version ? [['facts version', shown.facts_version] as const] : []),
    ...Object.entries(shown.facts).map(
      ([key, value]) => [`fact ${key}`, typeof value === 'string' ? value : JSON.stringify(value)] as const,
    ),
  ];
  host
    .command('list')
    .description('list hosts')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host list', 'host list -o json'))
    .action(async ({ output: format }) => {
      const rows = await (await context.client()).hosts.list();
      output.list(format, {
        rows,
        none: 'No hosts.',
        columns: {
          name: (row) => row.name,
          status: (row, colors) => paintStatus(row.status, colors),
          pending: (row) => row.pending,
          'last seen': (row) => formatAge(row.last_seen_at, context.now()),
          id: (row) => row.id,
        },
      });
    });
  host
    .command('show <host>')
    .description('show a host: state, queues, facts')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host show web-serv1', 'host show web-serv1 -o yaml'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.client()).hosts.show({ host: name });
      output.one(format, shown, () => fields(shown));
    });
  host
    .command('token <host>')
    .description('issue a new token to set up a host by hand; the old token stops working')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host token web-serv1'))
    .action(async (name, { output: format }) => {
      const { host: shown, token } = await (await context.client()).hosts.renewToken({ host: name });
      output.one(format, { host: shown, token }, () => [...fields(shown), ['token', token]]);
    });
}
