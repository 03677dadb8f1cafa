/** `anneal node …` */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Argument, Option, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { collect, exampleText, formatOption, readSecret } from './options.ts';

const powerTargets = { on: 'power on', off: 'power off', reboot: 'rebooting', 'soft-off': 'soft power off' } as const;
const addressOf = (node: NodeRepresentation): string => {
  const info = node['driver_info'] as Record<string, unknown> | undefined;
  return [info?.['redfish_address'], info?.['redfish_system_id']].filter((part) => typeof part === 'string').join(' ');
};

const verbs = ['manage', 'inspect', 'provide', 'clean', 'abort', 'deleted'] as const;

const verifyCaMeaning =
  'how to verify the TLS certificate: true, false, the path of a CA file on the server, or sha256:…';

const errorText = ({ last_error: error }: NodeRepresentation): string => {
  if (typeof error === 'string') return error;
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : '';
};

export function addNodeCommands(program: Command, context: CliContext): void {
  const node = program.command('node').description('enrol, inspect and control nodes (bare-metal machines)');
  addNodeList(node, context);
  addNodeShow(node, context);
  addNodeEnrol(node, context);
  addNodeSet(node, context);
  addNodeRemove(node, context);
  addNodePower(node, context);
  addNodeProvide(node, context);
  addNodeMaintenance(node, context);
}

function addNodeList(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('list')
    .description('list nodes')
    .option('--state <state>', 'only nodes in this provision state, e.g. available')
    .addOption(formatOption())
    .addHelpText('after', exampleText('node list', 'node list --state available -o json'))
    .action(async ({ output: format, state }) => {
      const rows = await (await context.client()).nodes.list({ state });
      output.list(format, {
        rows: rows.toSorted((a, b) => (a.name ?? a.uuid).localeCompare(b.name ?? b.uuid, 'en', { numeric: true })),
        none: 'No nodes.',
        columns: {
          name: (row) => row.name,
          state: (row, colors) => paintStatus(row.provision_state, colors),
          power: (row, colors) => paintStatus(row.power_state, colors),
          class: (row) => row.resource_class,
          server: (row) => row.instance_uuid,
          maintenance: (row) => row.maintenance,
          id: (row) => row.uuid,
        },
      });
    });
}

function addNodeShow(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('show <node>')
    .description('show a node: states, inventory, last error')
    .addOption(formatOption())
    .addHelpText('after', exampleText('node show machine-1', 'node show machine-1 -o yaml'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.client()).nodes.show({ node: name });
      output.one(format, shown, () => nodeFields(shown, context));
    });
}

function addNodeEnrol(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('enrol <name>')
    .description('enrol a machine by its BMC address')
    .requiredOption('--address <url>', 'address of the BMC (Redfish), e.g. https://10.0.0.7')
    .option('--system <path>', 'Redfish system on the BMC if it has several, e.g. /redfish/v1/Systems/1')
    .option('--username <name>', 'user of the BMC')
    .option('--password-file <file>', 'file that holds the password of that user')
    .option('--verify-ca <check>', verifyCaMeaning)
    .option('--resource-class <class>', 'resource class: the kind of machine')
    .option('--trait <trait>', 'capability of the machine; may be repeated', collect, [])
    .option('--capability <name:value>', 'trait that a placement can require; may be repeated', collect, [])
    .option('--no-provide', 'do not make the node available')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'node enrol rack1-7 --address https://10.0.0.7 --username admin --password-file ~/bmc.txt',
        'node enrol rack1-8 --address https://10.0.0.8 --capability profile:control --capability node:controller-0',
      ),
    )
    .action(async (name, options) => {
      const enrolled = await (
        await context.client()
      ).nodes.enrol({
        name,
        address: options.address,
        systemId: options.system,
        username: options.username,
        password: options.passwordFile === undefined ? undefined : await readSecret(options.passwordFile, context.cwd),
        verifyCa: options.verifyCa,
        resourceClass: options.resourceClass,
        ...(options.trait.length > 0 && { traits: options.trait }),
        ...(options.capability.length > 0 && { properties: { capabilities: options.capability.join(',') } }),
        provide: options.provide,
      });
      output.one(options.output, enrolled, () => nodeFields(enrolled, context));
    });
}

function addNodeSet(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('set <node>')
    .description("change a node's BMC access, name or resource class")
    .option('--name <name>', 'new name')
    .option('--address <url>', 'address of the BMC (Redfish)')
    .option('--system <path>', 'Redfish system on the BMC; empty if it has only one')
    .option('--username <name>', 'user of the BMC')
    .option('--password-file <file>', 'file that holds the password of that user')
    .option('--verify-ca <check>', `${verifyCaMeaning}; empty for the setting of the provisioning service`)
    .option('--resource-class <class>', 'resource class: the kind of machine')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('node set rack1-7 --password-file ~/new.txt', 'node set rack1-7 --verify-ca sha256:9f86d081…'),
    )
    .action(async (name, options) => {
      const given = {
        name: options.name,
        resource_class: options.resourceClass,
        'driver_info/redfish_address': options.address,
        'driver_info/redfish_system_id': options.system,
        'driver_info/redfish_username': options.username,
        'driver_info/redfish_password':
          options.passwordFile === undefined ? undefined : await readSecret(options.passwordFile, context.cwd),
        'driver_info/redfish_verify_ca': options.verifyCa,
      };
      const client = await context.client();
      const present = (await client.nodes.show({ node: name }))['driver_info'] as Record<string, unknown> | undefined;
      const isAbsent = (path: string): boolean => !Object.hasOwn(present ?? {}, path.replace('driver_info/', ''));
      const fields = Object.entries(given).flatMap(([path, value]): [string, string | null][] => {
        if (value === undefined || (value === '' && isAbsent(path))) return [];
        return [[path, value === '' ? null : value]];
      });
      if (fields.length === 0)
        throw new AnnealError('InvalidRequest', `Nothing to change in node ${name}: give at least one option.`);
      const changed = await client.nodes.set({ node: name, fields: Object.fromEntries(fields) });
      output.one(options.output, changed, () => nodeFields(changed, context));
    });
}

function addNodeRemove(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('remove <node>')
    .description('remove a node that has no server; the machine itself is not changed')
    .addHelpText('after', exampleText('node remove rack1-7'))
    .action(async (name) => {
      await (await context.client()).nodes.remove({ node: name });
      output.line(`Removed ${name}.`);
    });
}

function addNodePower(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('power <node>')
    .description('show or change the power state of a node')
    .addArgument(
      new Argument('[target]', 'power action').choices(Object.keys(powerTargets) as (keyof typeof powerTargets)[]),
    )
    .addOption(formatOption())
    .addHelpText('after', exampleText('node power machine-1', 'node power machine-1 off'))
    .action(async (name, target, { output: format }) => {
      const client = await context.client();
      if (target !== undefined) await client.nodes.power({ node: name, target: powerTargets[target] });
      const shown = await client.nodes.show({ node: name });
      const { power_state, target_power_state } = shown;
      if (format !== 'table') output.value(format, { node: shown.name ?? shown.uuid, power_state, target_power_state });
      else if (target_power_state === null) output.line(`${name}: ${paintStatus(power_state, output.colors)}`);
      else output.line(`${name}: ${paintStatus(power_state, output.colors)}, changing to ${target_power_state}`);
    });
}

function addNodeProvide(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('provide <node>')
    .description("change a node's provision state (default: make it available)")
    .addOption(new Option('--verb <verb>', 'provision verb').choices(verbs).default('provide' as const))
    .addOption(formatOption())
    .addHelpText('after', exampleText('node provide machine-1', 'node provide machine-1 --verb inspect'))
    .action(async (name, { verb, output: format }) => {
      const client = await context.client();
      await client.nodes.provision({ node: name, target: verb });
      const shown = await client.nodes.show({ node: name });
      output.one(format, shown, () => nodeFields(shown, context));
    });
}

function addNodeMaintenance(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('maintenance <node>')
    .description('turn maintenance of a node on or off')
    .addArgument(
      new Argument('<state>', 'on: take the node out of use; off: return it to use').choices(['on', 'off'] as const),
    )
    .option('--reason <text>', 'why')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('node maintenance machine-1 on --reason "new disk"', 'node maintenance machine-1 off'),
    )
    .action(async (name, state, { reason, output: format }) => {
      const client = await context.client();
      await client.nodes.maintenance({ node: name, on: state === 'on', reason });
      const shown = await client.nodes.show({ node: name });
      output.one(format, shown, () => nodeFields(shown, context));
    });
}

function nodeFields(
  node: NodeRepresentation,
  { output: { colors } }: CliContext,
): (readonly [string, string | boolean | null])[] {
  return [
    ['name', node.name],
    ['id', node.uuid],
    ['state', paintStatus(node.provision_state, colors)],
    ['target', node.target_provision_state],
    ['power', paintStatus(node.power_state, colors)],
    ['class', node.resource_class],
    ['server', node.instance_uuid],
    ['maintenance', node.maintenance ? `yes: ${node.maintenance_reason ?? ''}` : 'no'],
    ['fault', node.fault],
    ['BMC', addressOf(node)],
    ['last error', errorText(node)],
    ['properties', JSON.stringify(node['properties'] ?? {})],
  ];
}
