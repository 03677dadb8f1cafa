/** `anneal host …` */
import { hostStatusWord, rebootCount } from '@anneal/contracts/calls/hosts.ts';
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { HostView, UnexpectedAnswer } from '@anneal/contracts/calls/hosts.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { addJoinCommands } from './host-join.ts';
import { exampleText, formatOption } from '../options/options.ts';

/** `2 × request abc of web-config, last at …: why` */
function unexpectedLine({ count, request_id, deployment, last_at, reason }: UnexpectedAnswer): string {
  const of = deployment === null ? '' : ` of ${deployment}`;
  return `${count} × request ${request_id}${of}, last at ${last_at}: ${reason}`;
}

/** The most deployments without an answer in a table. */
const mostUnanswered = 10;

const isUnanswered = ({ answer_state }: DeploymentView): boolean =>
  answer_state !== undefined && !['answered', 'failed', 'none'].includes(answer_state);

const briefly = ({ id, name, status, answer_state, queued_at, reason }: DeploymentView): object => ({
  id,
  name,
  status,
  answer_state,
  queued_at,
  reason,
});

/** `never polled: web-config, queued at …` */
const unansweredLine = ({ id, name, status, answer_state, queued_at }: DeploymentView): string =>
  `${answer_state ?? ''}: ${name} (${status}, ${id}), queued at ${queued_at ?? ''}`;

/**
 * The lines about deployments without an answer, oldest first: the one that holds up the others, then the latest.
 * @param unanswered oldest first
 */
export function unansweredLines(unanswered: readonly DeploymentView[], host: string): string[] {
  const latest = unanswered.slice(-mostUnanswered);
  const first = unanswered.find(({ status }) => status === 'IN_PROGRESS');
  const shown = first && !latest.includes(first) ? [first, ...latest.slice(1)] : latest;
  const others = unanswered.length - shown.length;
  return [
    ...shown.map(unansweredLine),
    ...(others > 0 ? [`${others} more: anneal deployment list --host ${host}`] : []),
  ];
}

export function addHostCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const host = program.command('host').description('inspect hosts, the machines that take configs from their queues');
  const fields = (shown: HostView): (readonly [string, unknown])[] => [
    ['name', shown.name],
    ['id', shown.id],
    ['status', paintStatus(hostStatusWord(shown), output.colors)],
    ...(shown.reboot
      ? [['reboots', rebootCount(shown.reboot)] as const, ['for config', shown.reboot.deployment] as const]
      : []),
    ...(shown.reboot ? [['back until', shown.reboot.until] as const] : []),
    ['pending', shown.pending],
    ['last seen', shown.last_seen_at],
    ['requests', shown.requests_queue],
    ['responses', shown.responses_queue],
    ...(shown.broker_access
      ? ([
          ['broker credentials', shown.broker_access.issued_at],
          ['last seen over the broker', shown.broker_access.seen_at],
        ] as const)
      : []),
    ...(shown.unexpected_total ? [['unexpected answers', shown.unexpected_total] as const] : []),
    ...(shown.unexpected_answers ?? []).map(
      (answer) => [answer.alarm ? `ALARM ${answer.kind}` : answer.kind, unexpectedLine(answer)] as const,
    ),
    ...(shown.facts_version ? [['facts version', shown.facts_version] as const] : []),
    ...Object.entries(shown.facts).map(([key, value]) => [`fact ${key}`, value] as const),
  ];
  host
    .command('list')
    .description('list hosts')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host list', 'host list -o json'))
    .action(async ({ output: format }) => {
      const rows = await (await context.part('hosts')).list();
      output.list(format, {
        rows,
        none: 'No hosts.',
        columns: {
          name: (row) => row.name,
          status: (row, colors) => paintStatus(hostStatusWord(row), colors),
          pending: (row) => row.pending,
          'last seen': (row) => formatAge(row.last_seen_at, context.now()),
          id: (row) => row.id,
        },
      });
    });
  host
    .command('show <host>')
    .description('show a host: state, queues, facts, and deployments that it has not answered')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host show web-serv1', 'host show web-serv1 -o yaml'))
    .action(async (name, { output: format }) => {
      const client = await context.parts(['deployments', 'hosts']);
      const shown = await client.hosts.show({ host: name });
      const unanswered = (await client.deployments.list({ host: shown.id })).filter(isUnanswered);
      output.one(format, { ...shown, unanswered: unanswered.map(briefly) }, () => [
        ...fields(shown),
        ...unansweredLines(unanswered, shown.name).map((line) => ['no answer', line] as const),
      ]);
    });
  addJoinCommands(host, context);
  addCredentialsCommand(host, context);
  host
    .command('token <host>')
    .description('issue a new token to set up a host by hand; the old token stops working')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host token web-serv1'))
    .action(async (name, { output: format }) => {
      const renewed = await (await context.part('hosts')).renewToken({ host: name });
      const { host: shown, token, metadata_url: url } = renewed;
      output.one(format, renewed, () => [
        ...fields(shown),
        ['token', token],
        ['metadata address', `${url} (replaces the one in anneal/metadata-url of its config drive)`],
      ]);
    });
  addMetadataUrl(host, context);
}

function addMetadataUrl(host: Command, context: CliContext): void {
  host
    .command('metadata-url <host>')
    .description('show the address at which the programs of a host read its metadata; it is a secret')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host metadata-url web-serv1'))
    .action(async (name, { output: format }) => {
      const url = await (await context.part('hosts')).metadataUrl({ host: name });
      context.output.one(format, { metadata_url: url }, () => [['metadata address', url]]);
    });
}

/** `anneal host credentials`: a program on the host that uses RabbitMQ or NATS itself. */
function addCredentialsCommand(host: Command, context: CliContext): void {
  const { output } = context;
  host
    .command('credentials <host>')
    .description('issue credentials with which a program on a host uses the broker directly; the old ones stop working')
    .option('--revoke', 'revoke the credentials instead, and end their connections')
    .addOption(formatOption())
    .addHelpText('after', exampleText('host credentials web1 -o json', 'host credentials web1 --revoke'))
    .action(async (name, { output: format, revoke }) => {
      const hosts = await context.part('hosts');
      if (revoke) {
        const shown = await hosts.revokeBroker({ host: name });
        output.one(format, shown, () => [
          ['name', shown.name],
          ['broker credentials', null],
        ]);
        return;
      }
      const { access } = await hosts.grantBroker({ host: name });
      output.one(format, access, () => Object.entries(access));
      output.note('The password is shown only now. `anneal host credentials --revoke` ends it.');
    });
}
