/** `anneal deployment list` and `anneal config show`: configs on hosts and their results. */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { describeFailure } from '../print/failure.ts';
import { paintStatus } from '../print/status.ts';
import { formatDuration } from '../print/time.ts';
import { exampleText, formatOption } from './options.ts';

const took = (started: string | null, finished: string | null, now: number): string =>
  started === null ? '' : formatDuration((finished === null ? now : Date.parse(finished)) - Date.parse(started));

export function addDeploymentCommands(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('deployment')
    .description('inspect deployments, which apply configs to hosts')
    .command('list')
    .description('list deployments')
    .option('--host <host>', 'only deployments on this host')
    .option('--stack <stack>', 'only deployments of this stack')
    .option('--config <config>', 'only deployments of this config, such as that of `anneal run`')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('deployment list', 'deployment list --stack web', 'deployment list --host web-serv1 -o json'),
    )
    .action(async ({ host, stack, config, output: format }) => {
      const client = await context.client();
      const stackId = stack === undefined ? undefined : (await client.stacks.find({ stack })).id;
      const rows = await client.deployments.list({ host, stack: stackId, config });
      output.list(format, {
        rows,
        none: 'No deployments.',
        columns: {
          id: (row) => row.id,
          resource: (row) => row.resource_name,
          host: (row) => row.host_name,
          action: (row) => row.action,
          status: (row, colors) => paintStatus(row.status, colors),
          exit: (row) => row.status_code,
          answer: (row) => row.answer_state ?? '',
          time: (row) => took(row.started_at, row.finished_at, context.now()),
        },
      });
    });
  program
    .command('config')
    .description('inspect configs, which hosts run')
    .command('show <deployment>')
    .description('show a deployment: its config, inputs, outputs, and the output of its script')
    .addOption(formatOption())
    .addHelpText('after', exampleText('config show 6f1c…', 'config show 6f1c… -o json'))
    .action(async (id, { output: format }) => {
      const shown = await (await context.client()).deployments.show({ deployment: id });
      output.one(format, shown, () => [
        ['name', shown.name],
        ['id', shown.id],
        ['resource', shown.resource_name],
        ['host', shown.host_name],
        ['tool', shown.group],
        ['action', shown.action],
        ['status', paintStatus(shown.status, output.colors)],
        ['answer', shown.answer_state ?? null],
        ['reason', shown.reason],
        ['exit status', shown.status_code],
        ['started', shown.started_at],
        ['took', took(shown.started_at, shown.finished_at, context.now())],
        ...Object.entries(shown.input_values).map(([key, value]) => [`input ${key}`, textOf(value)] as const),
        ...Object.entries(shown.output_values).map(([key, value]) => [`output ${key}`, textOf(value)] as const),
      ]);
      if (format !== 'table') return;
      for (const [title, text] of [
        ['config', textOf(shown.config)],
        ['standard output', shown.stdout],
        ['standard error', shown.stderr],
      ] as const) {
        if (text.trim() !== '') output.line(`\n${output.colors.bold(title)}\n${text.trimEnd()}`);
      }
      if (shown.failure) {
        output.line();
        // The streams are already printed above.
        const { details: _, ...failure } = shown.failure;
        for (const line of describeFailure(failure, { colors: output.colors })) output.line(line);
      }
    });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
