/** `anneal output …` */
import type { OutputRepresentation } from '@anneal/client/representation.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { exampleText, formatOption } from '../options/options.ts';

export const outputText = ({ output_value: value, output_error: error }: OutputRepresentation): string =>
  error !== undefined ? `(${error})` : typeof value === 'string' ? value : JSON.stringify(value ?? null);

export function addOutputCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program.command('output').description('read stack outputs');
  noun
    .command('list <stack>')
    .description('list the outputs of a stack and their values')
    .addOption(formatOption())
    .addHelpText('after', exampleText('output list web'))
    .action(async (stack, { output: format }) => {
      const rows = await (await context.part('stacks')).outputs({ stack });
      output.list(format, {
        rows,
        none: `${stack} has no outputs.`,
        columns: { name: (row) => row.output_key, value: outputText, description: (row) => row.description },
      });
    });
  noun
    .command('show <stack> <output>')
    .description('print only the value of an output')
    .addOption(formatOption())
    .addHelpText('after', exampleText('output show web url', 'output show web url -o json'))
    .action(async (stack, key, { output: format }) => {
      const shown = await (await context.part('stacks')).output({ stack, key });
      if (format === 'table') output.line(outputText(shown));
      else output.value(format, shown);
    });
}
