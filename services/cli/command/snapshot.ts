/** `anneal snapshot …` */
import type { Command } from '@commander-js/extra-typings';
import type { Client } from '@anneal/client/connect.ts';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { idOf } from './named.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { exampleText, formatOption, noWaitOption, waitOption } from '../options/options.ts';
import { lastEvent, settle } from './settle.ts';

export function addSnapshotCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program.command('snapshot').description('save and restore stack snapshots');
  noun
    .command('create <stack>')
    .description('save the current state of a stack, to restore it later')
    .option('--name <name>', 'name of the snapshot', '')
    .addOption(formatOption())
    .addHelpText('after', exampleText('snapshot create web --name before-upgrade'))
    .action(async (stack, { name, output: format }) => {
      const made = await (await context.part('actions')).snapshot({ stack, name });
      output.one(format, made, () => [
        ['id', made.id],
        ['name', made.name],
        ['status', paintStatus(made.status, output.colors)],
      ]);
    });
  noun
    .command('list <stack>')
    .description('list the snapshots of a stack')
    .addOption(formatOption())
    .addHelpText('after', exampleText('snapshot list web'))
    .action(async (stack, { output: format }) => {
      const rows = await (await context.part('actions')).snapshots({ stack });
      output.list(format, {
        rows,
        none: `${stack} has no snapshots.`,
        key: 'id',
        columns: {
          name: (row) => row.name,
          status: (row, colors) => paintStatus(row.status, colors),
          age: (row) => formatAge(row.creation_time, context.now()),
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('show <stack> <snapshot>')
    .description('show a snapshot and its contents')
    .addOption(formatOption())
    .addHelpText('after', exampleText('snapshot show web before-upgrade -o json'))
    .action(async (stack, given, { output: format }) => {
      const actions = await context.part('actions');
      const shown = await actions.showSnapshot({ stack, snapshot: await snapshotOf(actions, stack, given) });
      output.one(format, shown, () => [
        ['id', shown.id],
        ['name', shown.name],
        ['status', paintStatus(shown.status, output.colors)],
        ['reason', shown.status_reason],
        ['created', shown.creation_time],
      ]);
    });
  noun
    .command('restore <stack> <snapshot>')
    .description('restore a stack to a snapshot')
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText('after', exampleText('snapshot restore web before-upgrade'))
    .action(async (stack, given, { wait, output: format }) => {
      const client = await context.client();
      const snapshot = await snapshotOf(client.actions, stack, given);
      const after = await lastEvent(client, stack);
      const ref = await client.actions.act({ stack, action: { kind: 'restore', snapshot } });
      const began = { begun: `Restoring ${ref.name}`, wanted: 'RESTORE' };
      await settle({ context, client, ref, wait, format, after, ...began });
    });
  noun
    .command('delete <stack> <snapshot>')
    .description('delete a snapshot')
    .addOption(yesOption())
    .addHelpText('after', exampleText('snapshot delete web before-upgrade'))
    .action(async (stack, snapshot, { yes }) => {
      await confirm(context, { yes, what: () => [`Delete snapshot ${snapshot} of stack ${stack}, permanently.`] });
      const actions = await context.part('actions');
      await actions.deleteSnapshot({ stack, snapshot: await snapshotOf(actions, stack, snapshot) });
      output.line(`Deleted snapshot ${snapshot} of ${stack}.`);
    });
}

const snapshotOf = (actions: Client['actions'], stack: string, given: string): Promise<string> =>
  idOf(given, { kind: 'snapshot', list: () => actions.snapshots({ stack }) });
