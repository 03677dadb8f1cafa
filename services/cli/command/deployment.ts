/** `anneal deployment …` and `anneal config show`: configs on hosts and their results. */
import { rebootCount } from '@anneal/contracts/calls/hosts.ts';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { describeFailure } from '../print/failure.ts';
import { withoutControls } from '../terminal/program-output.ts';
import { paintStatus } from '../print/status.ts';
import type { Cell } from '../terminal/table.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { confirm, yesOption } from './confirm.ts';
import { exampleText, formatOption } from '../options/options.ts';

const took = (started: string | null, finished: string | null, now: number): string =>
  started === null ? '' : formatDuration((finished === null ? now : Date.parse(finished)) - Date.parse(started));

export function addDeploymentCommands(program: Command, context: CliContext): void {
  const noun = program.command('deployment').description('inspect deployments, which apply configs to hosts');
  addList(noun, context);
  addShow(noun, context, 'deployment show');
  addLogs(noun, context);
  addDownload(noun, context);
  addDelete(noun, context);
  addShow(program.command('config').description('inspect configs, which hosts run'), context, 'config show');
}

function addList(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
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
      const client = await context.parts(['deployments', 'hosts', 'stacks']);
      const stackId = stack === undefined ? undefined : (await client.stacks.find({ stack })).id;
      const rows = await client.deployments.list({ host, stack: stackId, config });
      // A host that does not exist has no deployments either, so refuse a wrong name. A deleted host keeps its deployments.
      if (host !== undefined && rows.length === 0) await client.hosts.show({ host });
      output.list(format, {
        rows,
        none: 'No deployments.',
        key: 'id',
        columns: {
          resource: (row) => row.resource_name,
          host: (row) => row.host_name,
          status: (row, colors) => paintStatus(row.status, colors),
          exit: (row) => row.status_code,
          answer: (row) => row.answer_state ?? '',
          action: (row) => row.action,
          time: (row) => took(row.started_at, row.finished_at, context.now()),
          id: (row) => row.id,
        },
      });
    });
}

function addShow(noun: Command, context: CliContext, name: string): void {
  const { output } = context;
  noun
    .command('show <deployment>')
    .description('show a deployment: its config, inputs, outputs, and the output of its script')
    .addOption(formatOption())
    .addHelpText('after', exampleText(`${name} 6f1c…`, `${name} 6f1c… -o json`))
    .action(async (id, { output: format }) => {
      const shown = await (await context.part('deployments')).show({ deployment: id });
      output.one(format, shown, () => fieldsOf(shown, context));
      if (format !== 'table') return;
      for (const [title, text] of [
        ['config', textOf(shown.config)],
        ['standard output', shown.stdout],
        ['standard error', shown.stderr],
      ] as const) {
        if (text.trim() !== '') output.line(`\n${output.colors.bold(title)}\n${withoutControls(text.trimEnd())}`);
      }
      if (shown.failure) {
        output.line();
        // The streams are already printed above.
        const { details: _, ...failure } = shown.failure;
        for (const line of describeFailure(failure, { colors: output.colors })) output.prose(line);
      }
    });
}

function fieldsOf(shown: DeploymentView, { output, now }: CliContext): (readonly [string, Cell])[] {
  return [
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
    ['queued', shown.queued_at],
    ...(shown.accepted_at == null ? [] : [['accepted', shown.accepted_at] as const]),
    ['started', shown.started_at],
    ...(shown.reboot ? [['reboots', rebootCount(shown.reboot)] as const] : []),
    ['took', took(shown.started_at, shown.finished_at, now())],
    ...(shown.streams ?? []).map(
      ({ name, bytes, full }) => [`stored ${name}`, `${bytes} bytes${full ? ', the limit' : ''}`] as const,
    ),
    ...Object.entries(shown.input_values).map(([key, value]) => [`input ${key}`, textOf(value)] as const),
    ...Object.entries(shown.output_values).map(([key, value]) => [`output ${key}`, textOf(value)] as const),
  ];
}

function addLogs(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('logs <deployment>')
    .description('print what the config of a deployment wrote to standard output and standard error')
    .option('-f, --follow', 'print more as it arrives, until the deployment ends')
    .addHelpText('after', exampleText('deployment logs 6f1c…', 'deployment logs -f 6f1c…'))
    .addHelpText(
      'after',
      '\nExit status with --follow: 0 the deployment completed, 1 it failed. States go to standard error.\n',
    )
    .action(async (id, { follow = false }) => {
      const deployments = await context.part('deployments');
      const signal = context.interrupt;
      let isEmpty = true;
      for await (const entry of deployments.logs({ deployment: id, follow, signal })) {
        if (entry.kind === 'output') {
          isEmpty = false;
          output.program(entry.stream, entry.bytes);
        } else if (entry.kind === 'state') {
          if (follow) output.note(output.colors.dim(`[${entry.status}] ${withoutControls(entry.reason)}`));
        } else {
          if (isEmpty) await printAnswer(context, id);
          if (follow && entry.status !== 'COMPLETE') {
            throw new AnnealError('DeploymentFailed', `Deployment ${id} did not complete: ${entry.reason}`);
          }
        }
      }
    });
}

/** The streams of the answer, for a host whose agent sends nothing before the answer. */
async function printAnswer(context: CliContext, id: string): Promise<void> {
  const { output } = context;
  const { stdout, stderr } = await (await context.part('deployments')).show({ deployment: id });
  output.program('stdout', Buffer.from(stdout));
  output.program('stderr', Buffer.from(stderr));
}

function addDownload(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('download <deployment> <name>')
    .description('download stdout, stderr or an output, byte by byte: outputs.NAME for the output NAME')
    .option('--file <file>', 'write to this file instead of standard output')
    .addHelpText(
      'after',
      exampleText('deployment download 6f1c… stdout', 'deployment download 6f1c… outputs.archive --file archive.tgz'),
    )
    .action(async (id, name, { file }) => {
      const deployments = await context.part('deployments');
      const pieces = deployments.download({ deployment: id, name, signal: context.interrupt });
      if (file !== undefined) await writeFile(resolve(context.cwd, file), pieces);
      else for await (const piece of pieces) output.program('stdout', piece);
    });
}

function addDelete(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('delete <deployment>')
    .description('delete a deployment without a stack: withdraw its request, or stop its config')
    .addOption(yesOption())
    .addHelpText('after', exampleText('deployment delete 6f1c…'))
    .action(async (id, { yes }) => {
      const deployments = await context.part('deployments');
      await confirm(context, {
        yes,
        what: async () => {
          const { name, host_name, status } = await deployments.show({ deployment: id });
          return [`Delete deployment ${name} on host ${host_name} (${status}).`];
        },
      });
      await deployments.delete({ deployment: id });
      output.line(`Deleted deployment ${id}.`);
    });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
