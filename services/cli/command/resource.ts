/** `anneal resource …` */
import { withPaths } from '@anneal/client/nested.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { describeFailure } from '../print/failure.ts';
import { paintStatus } from '../print/status.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { exampleText, formatOption, readJsonObject, wholeNumber } from '../options/options.ts';
import { outcomeLine } from './scaling-outcome.ts';

export function addResourceCommands(program: Command, context: CliContext): void {
  const resource = program.command('resource').description('inspect stack resources and act on them');
  addResourceList(resource, context);
  addResourceShow(resource, context);
  addResourceMark(resource, context, true);
  addResourceMark(resource, context, false);
  addResourceSkip(resource, context);
  addResourceSignal(resource, context);
}

function addResourceList(resource: Command, context: CliContext): void {
  const { output } = context;
  resource
    .command('list <stack>')
    .description('list the resources of a stack')
    .option('--depth <n>', 'include nested stacks down to this depth', wholeNumber)
    .addOption(formatOption())
    .addHelpText('after', exampleText('resource list web', 'resource list web --depth 5', 'resource list web -o json'))
    .action(async (stack, { output: format, depth }) => {
      const rows = await (await context.part('stacks')).resources({ stack, ...(depth !== undefined && { depth }) });
      output.list(format, {
        rows: withPaths(rows),
        none: `${stack} has no resources.`,
        columns: {
          name: (row) => row.path,
          status: (row, colors) => paintStatus(row.resource_status, colors),
          type: (row) => row.resource_type,
          time: ({ started_at: started, finished_at: finished }) =>
            started === null
              ? ''
              : formatDuration((finished === null ? context.now() : Date.parse(finished)) - Date.parse(started)),
          'physical id': (row) => row.physical_resource_id,
        },
      });
    });
}

function addResourceShow(resource: Command, context: CliContext): void {
  const { output } = context;
  resource
    .command('show <stack> <resource>')
    .description('show a resource: state, attributes, reason of a failure')
    .addOption(formatOption())
    .addHelpText('after', exampleText('resource show web db', 'resource show web db -o yaml'))
    .action(async (stack, name, { output: format }) => {
      const shown = await (await context.part('stacks')).resource({ stack, resource: name });
      output.one(format, shown, () => [
        ['name', shown.resource_name],
        ['type', shown.resource_type],
        ['status', paintStatus(shown.resource_status, output.colors)],
        ['reason', shown.resource_status_reason],
        ['physical id', shown.physical_resource_id],
        ['required by', shown.required_by.join(', ')],
        ['started', shown.started_at],
        ['finished', shown.finished_at],
        ['waits at', shown.hook?.name],
        ...(shown.drift ?? []).map(
          ({ property, expected, actual }) =>
            [`drift of ${property}`, `expected ${JSON.stringify(expected)}, found ${JSON.stringify(actual)}`] as const,
        ),
        ...(shown.conditions ?? []).map((one) => [`condition ${one.type}`, one.message || one.reason] as const),
        ...Object.entries(shown.attributes ?? {}).map(([key, value]) => [`attribute ${key}`, value] as const),
      ]);
      if (format === 'table' && shown.failure) {
        for (const line of describeFailure(shown.failure, { colors: output.colors })) output.prose(line);
      }
    });
}

function addResourceSkip(resource: Command, context: CliContext): void {
  const { output } = context;
  resource
    .command('skip <stack> <resource>')
    .description('accept a failed resource as it is, so that its dependents continue')
    .addHelpText('after', exampleText('resource skip web motd'))
    .action(async (stack, given) => {
      await (await context.part('actions')).actOn({ stack, resource: given, action: { kind: 'skip' } });
      output.line(`Skipped ${given} of ${stack}.`);
    });
}

function addResourceSignal(resource: Command, context: CliContext): void {
  const { output } = context;
  resource
    .command('signal <stack> <resource>')
    .description('send a signal to a resource')
    .option('--data <json>', 'data of the signal, a JSON object')
    .addHelpText(
      'after',
      exampleText('resource signal web ready', `resource signal web ready --data '{"status":"SUCCESS"}'`),
    )
    .action(async (stack, given, { data }) => {
      const signal =
        data === undefined ? null : readJsonObject(data, { option: '--data', example: '{"status": "SUCCESS"}' });
      const outcome = await (await context.part('actions')).signal({ stack, resource: given, signal });
      output.prose(outcome ? outcomeLine(outcome) : `Signalled ${given} of ${stack}.`);
    });
}

/** The command that marks a resource as unhealthy, and the one that clears the mark. */
function addResourceMark(resource: Command, context: CliContext, unhealthy: boolean): void {
  const name = unhealthy ? 'mark-unhealthy' : 'mark-healthy';
  const description = unhealthy ? 'mark a resource as broken; the next update replaces it' : 'clear the unhealthy mark';
  resource
    .command(`${name} <stack> <resource>`)
    .description(description)
    .option('--reason <text>', 'why', '')
    .addHelpText('after', exampleText(`resource ${name} web server --reason "disk errors"`))
    .action(async (stack, given, { reason }) => {
      const actions = await context.part('actions');
      await actions.actOn({ stack, resource: given, action: { kind: 'mark', unhealthy, reason } });
      context.output.line(`Marked ${given} of ${stack} as ${unhealthy ? 'unhealthy' : 'healthy'}.`);
    });
}
