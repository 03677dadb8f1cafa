/** `anneal why …` */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { exampleText, formatOption } from '../options/options.ts';

export function addWhyCommand(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('why <stack> [resource]')
    .description('explain why a stack, a resource or an execution (its id) makes no progress, and what to do about it')
    .addOption(formatOption())
    .addHelpText('after', exampleText('why web', 'why web server -o json', 'why run-0198…'))
    .action(async (stack, resource, { output: format }) => {
      const why = await (await context.part('actions')).why({ stack, resource });
      if (format !== 'table') {
        output.value(format, why);
        return;
      }
      const { colors } = output;
      output.prose(colors.bold(why.summary));
      for (const [depth, { object, state, reason, since }] of why.chain.entries()) {
        // The summary often ends with it.
        const more = reason === '' || why.summary.includes(reason) ? '' : `  ${reason}`;
        const age = since === null ? '' : colors.dim(` for ${formatAge(since, context.now())}`);
        output.prose(`${'  '.repeat(depth)}└ ${object}: ${state}${age}${more}`);
      }
      if (why.exits.length > 0) output.prose(`Next steps: ${why.exits.join('; ')}`);
    });
}
