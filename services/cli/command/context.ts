/** `anneal context …` */
import type { ContextMember, ContextView } from '@anneal/contracts/calls/context.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge, formatClock } from '@anneal/client/text/time.ts';
import { exampleText, formatOption } from '../options/options.ts';

const memberLine = ({ name, roles, state, address, facts }: ContextMember): string => {
  const chosen = Object.entries(facts).map(([fact, value]) => `${fact}=${JSON.stringify(value)}`);
  return [name, address ?? '-', roles.join(','), state, ...chosen].join('  ');
};

export function addContextCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program
    .command('context')
    .description('inspect contexts: facts of several hosts as one versioned map, and the configs that follow it');
  const fields = (shown: ContextView): (readonly [string, string | number | null])[] => [
    ['name', shown.name],
    ['id', shown.id],
    ['stack', shown.stack_name],
    ['status', paintStatus(shown.status, output.colors)],
    ['reason', shown.reason],
    ['version', shown.data.version],
    ['changed', shown.changed_at],
    ...shown.data.members.map((member) => ['member', memberLine(member)] as const),
    ...shown.failures.map(({ member, config, reason }) => ['failure', `${config} on ${member}: ${reason}`] as const),
  ];
  noun
    .command('list')
    .description('list contexts')
    .option('--stack <id>', 'only those of the stack with this id')
    .addOption(formatOption())
    .addHelpText('after', exampleText('context list', 'context list -o json'))
    .action(async ({ stack, output: format }) => {
      const rows = await (await context.part('contexts')).list({ stack });
      output.list(format, {
        rows,
        none: 'No contexts.',
        columns: {
          name: (row) => row.name,
          stack: (row) => row.stack_name,
          status: (row, colors) => paintStatus(row.status, colors),
          version: (row) => row.data.version,
          members: (row) => row.data.members.length,
          changed: (row) => formatAge(row.changed_at, context.now()),
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('show <context>')
    .description('show a context by name or id: its members with their facts, and the state of its configs')
    .addOption(formatOption())
    .addHelpText('after', exampleText('context show cluster', 'context show cluster -o json'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.part('contexts')).show({ context: name });
      output.one(format, shown, () => fields(shown));
    });
  noun
    .command('watch <context>')
    .description('print the context now and after each change, until Ctrl-C')
    .addOption(formatOption())
    .addHelpText('after', exampleText('context watch cluster', 'context watch cluster -o json'))
    .action(async (name, { output: format }) => {
      const contexts = await context.part('contexts');
      for await (const shown of contexts.follow({ context: name, signal: context.interrupt })) {
        if (format === 'yaml') output.value('yaml', [shown]);
        else if (format === 'json') output.line(JSON.stringify(shown));
        else {
          const time = output.colors.dim(formatClock(shown.settled_at ?? shown.changed_at ?? ''));
          const members = shown.data.members.map(({ name: member, state }) =>
            state === 'up' ? member : `${member} (${state})`,
          );
          output.line(
            `${time}  version ${shown.data.version}  ${paintStatus(shown.status, output.colors)}  ${members.join(' ')}`,
          );
        }
      }
    });
}
