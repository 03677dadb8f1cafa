/** `anneal resource …` */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { describeFailure } from '../print/failure.ts';
import { paintStatus } from '../print/status.ts';
import { formatDuration } from '../print/time.ts';
import { examples, formatOption } from './options.ts';

export function addResourceCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const resource = program.command('resource').description('The parts of a stack');
  resource
    .command('list <stack>')
    .description('list the resources of a stack')
    .addOption(formatOption())
    .addHelpText('after', examples('resource list web', 'resource list web -o json'))
    .action(async (stack, { output: format }) => {
      const rows = await (await context.client()).stacks.resources({ stack });
      output.list(format, {
        rows,
        none: `${stack} has no resources.`,
        columns: {
          name: (row) => row.resource_name,
          type: (row) => row.resource_type,
          status: (row, colors) => paintStatus(row.resource_status, colors),
          time: ({ started_at: started, finished_at: finished }) =>
            started === null
              ? ''
              : formatDuration((finished === null ? context.now() : Date.parse(finished)) - Date.parse(started)),
          'physical id': (row) => row.physical_resource_id,
        },
      });
    });
  resource
    .command('show <stack> <resource>')
    .description('show a resource: state, attributes, why it failed')
    .addOption(formatOption())
    .addHelpText('after', examples('resource show web db', 'resource show web db -o yaml'))
    .action(async (stack, name, { output: format }) => {
      const shown = await (await context.client()).stacks.resource({ stack, resource: name });
      output.one(format, shown, () => [
        ['name', shown.resource_name],
        ['type', shown.resource_type],
        ['status', paintStatus(shown.resource_status, output.colors)],
        ['reason', shown.resource_status_reason],
        ['physical id', shown.physical_resource_id],
        ['required by', shown.required_by.join(', ')],
        ['started', shown.started_at],
        ['finished', shown.finished_at],
        ...Object.entries(shown.attributes ?? {}).map(
          ([key, value]) => [`attribute ${key}`, typeof value === 'string' ? value : JSON.stringify(value)] as const,
        ),
      ]);
      if (format === 'table' && shown.failure) {
        for (const line of describeFailure(shown.failure, { colors: output.colors })) output.line(line);
      }
    });
}
