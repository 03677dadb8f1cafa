/** `anneal node sensors`, `boot-device` and `interrupt`: what the BMC of a machine answers and does now. */
import { bootDevices } from '@anneal/contracts/node-choices.ts';
import { Argument, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { confirm, yesOption } from './confirm.ts';
import { exampleText, formatOption } from '../options/options.ts';

export function addNodeSensors(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('sensors <node>')
    .description('read the sensors of a machine from its BMC: temperatures, fans, power')
    .addOption(formatOption())
    .addHelpText('after', exampleText('node sensors machine-1'))
    .action(async (name, { output: format }) => {
      output.list(format, {
        rows: await (await context.part('nodes')).sensors({ node: name }),
        none: 'The BMC shows no sensors.',
        columns: {
          name: (row) => row.name,
          kind: (row) => row.kind,
          reading: (row) => (row.reading === null ? '' : `${row.reading} ${row.unit ?? ''}`.trim()),
          state: (row, colors) => paintStatus(row.state, colors),
        },
      });
    });
}

export function addNodeBootDevice(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('boot-device <node>')
    .description('show or set the device that a machine boots from next')
    .addArgument(new Argument('[device]', 'device to boot from').choices(bootDevices))
    .option('--persistent', 'for every boot, and not for the next one only')
    .addOption(formatOption())
    .addHelpText('after', exampleText('node boot-device machine-1', 'node boot-device machine-1 pxe --persistent'))
    .action(async (name, device, { persistent = false, output: format }) => {
      const nodes = await context.part('nodes');
      if (device !== undefined) await nodes.setBootDevice({ node: name, device, persistent });
      const shown = await nodes.bootDevice({ node: name });
      if (format !== 'table') output.value(format, { node: name, ...shown });
      else if (shown.boot_device === null) output.line(`${name}: boots in its own order`);
      else output.line(`${name}: ${shown.boot_device}, for ${shown.persistent ? 'every boot' : 'the next boot'}`);
    });
}

export function addNodeInterrupt(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('interrupt <node>')
    .description('send a non-maskable interrupt (NMI) to a machine that hangs, so that its kernel writes a crash dump')
    .addOption(yesOption())
    .addHelpText('after', exampleText('node interrupt machine-1'))
    .action(async (name, { yes }) => {
      await confirm(context, {
        yes,
        what: () => [`Interrupt ${name}: its kernel may stop, write a dump and start again, as it is set up.`],
      });
      await (await context.part('nodes')).interrupt({ node: name });
      output.line(`${name} was sent an NMI.`);
    });
}
