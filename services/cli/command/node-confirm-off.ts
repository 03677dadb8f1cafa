/** `anneal node confirm-off` and `clear-suspect`: statements of a person who has looked at a machine. */
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { exampleText } from '../options/options.ts';

export function addNodeConfirmOff(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('confirm-off <node>')
    .description('state that a machine is off when its BMC cannot prove it; what waits for the proof goes on')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .addOption(yesOption())
    .addHelpText('after', exampleText('node confirm-off rack1-7 --reason "the power supply burned, unplugged"'))
    .action(async (name, { reason, yes }) => {
      await confirm(context, {
        yes,
        what: () => [
          `Confirm that the machine of node ${name} is off. Other machines take its place, and its host ends.`,
          'If it still runs, two machines run as one host.',
        ],
      });
      const { warning } = await (await context.part('nodes')).confirmOff({ node: name, reason });
      if (warning !== null) output.note(warning);
      output.line(`${name} counts as off until it is turned on, or its BMC says that it is on.`);
    });
}

export function addNodeClearSuspect(node: Command, context: CliContext): void {
  node
    .command('clear-suspect <node>')
    .description('forget that a machine died without an order, so that placement takes it like any other')
    .addHelpText('after', exampleText('node clear-suspect rack1-7'))
    .action(async (name) => {
      await (await context.part('nodes')).clearSuspect({ node: name });
      context.output.line(`${name} is not suspect.`);
    });
}
