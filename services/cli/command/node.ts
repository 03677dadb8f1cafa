/** `anneal node …` */
import { byNaturalOrder } from '@anneal/contracts/natural-order.ts';
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { provisionVerbs } from '@anneal/contracts/node-choices.ts';
import { bmcOf, machineDrivers } from '@anneal/contracts/drivers.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonOrText, type Json, type JsonObject } from '@anneal/contracts/plain-json.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { Argument, Option, type Command } from '@commander-js/extra-typings';
import { notesOf, progressLineOf, workOf } from '@anneal/client/text/node-notes.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { paintStatus } from '../print/status.ts';
import { addNodeConsole } from './node-console.ts';
import { addNodeClearSuspect, addNodeConfirmOff } from './node-confirm-off.ts';
import { addNodeDhcp } from './node-dhcp.ts';
import { addNodeBootDevice, addNodeInterrupt, addNodeSensors } from './node-hardware.ts';
import { readYamlFile } from '../options/files.ts';
import { collect, exampleText, formatOption, readSecret } from '../options/options.ts';

const powerTargets = { on: 'power on', off: 'power off', reboot: 'rebooting', 'soft-off': 'soft power off' } as const;
const addressOf = (node: NodeRepresentation): string => {
  const info = (node['driver_info'] ?? {}) as JsonObject;
  return [bmcOf(info)?.address, info['redfish_system_id']].filter((part) => typeof part === 'string').join(' ');
};

const verifyCaMeaning =
  'how to verify the TLS certificate: true, false, the path of a CA file on the server, or sha256:…';
const driverMeaning = 'how to speak to the BMC: redfish, or ipmi for a BMC without Redfish';
const portMeaning = 'ipmi: UDP port of the BMC (default: 623)';
const suiteMeaning = 'ipmi: cipher suite (default: 17, or 3 when the BMC refuses 17)';
const levelMeaning = 'ipmi: privilege level of the session, ADMINISTRATOR (default) or OPERATOR';
const propertyMeaning = 'property of the node, such as rack, power_domain or availability_zone, as text or JSON';

const trueOrFalse = ['true', 'false'] as const;
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const flagText = (flag: unknown, reason: unknown): string => (flag === true ? `yes: ${textOf(reason) ?? ''}` : 'no');

/** @throws AnnealError InvalidRequest for a file that holds no list. */
async function readSteps(file: string, cwd: string): Promise<JsonObject[]> {
  const steps = await readYamlFile(file, cwd);
  if (Array.isArray(steps)) return steps as JsonObject[];
  throw new AnnealError(
    'InvalidRequest',
    `The file ${file} holds no list of steps, such as [{interface: power, step: reboot}].`,
  );
}

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
  addNodeConfirmOff(node, context);
  addNodeClearSuspect(node, context);
  addNodeProvide(node, context);
  addNodeMaintenance(node, context);
  addNodeConsole(node, context);
  addNodeHistory(node, context);
  addNodeSensors(node, context);
  addNodeBootDevice(node, context);
  addNodeInterrupt(node, context);
  addNodeDhcp(node, context);
}

function addNodeHistory(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('history <node>')
    .description('show the last changes of the state of a node, newest first')
    .addOption(formatOption())
    .addHelpText('after', exampleText('node history machine-1'))
    .action(async (name, { output: format }) => {
      output.list(format, {
        rows: await (await context.part('nodes')).history({ node: name }),
        none: 'The state of the node has not changed yet.',
        columns: {
          time: (row) => row.created_at,
          event: (row) => row.event,
          severity: (row, colors) => paintStatus(row.severity, colors),
          user: (row) => row.user,
        },
      });
    });
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
      const rows = await (await context.part('nodes')).list({ state });
      output.list(format, {
        rows: rows.toSorted((a, b) => byNaturalOrder(a.name ?? a.uuid, b.name ?? b.uuid)),
        none: 'No nodes.',
        columns: {
          name: (row) => row.name,
          state: (row, colors) => paintStatus(row.provision_state, colors),
          power: (row, colors) => paintStatus(row.power_state, colors),
          class: (row) => row.resource_class,
          server: (row) => row.instance_info?.name ?? row.instance_uuid,
          fault: (row, colors) => paintStatus(row.fault, colors),
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
      const shown = await (await context.part('nodes')).show({ node: name });
      output.one(format, shown, () => nodeFields(shown, context));
    });
}

function addNodeEnrol(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('enrol <name>')
    .description('enrol a machine by its BMC address')
    .requiredOption('--address <url>', 'address of the BMC: https://10.0.0.7 for redfish, 10.0.0.7 for ipmi')
    .addOption(new Option('--driver <driver>', driverMeaning).choices(machineDrivers).default('redfish' as const))
    .option('--system <path>', 'Redfish system on the BMC if it has several, e.g. /redfish/v1/Systems/1')
    .option('--username <name>', 'user of the BMC')
    .option('--password-file <file>', 'file that holds the password of that user')
    .option('--verify-ca <check>', verifyCaMeaning)
    .option('--ipmi-port <port>', portMeaning)
    .option('--ipmi-cipher-suite <number>', suiteMeaning)
    .option('--ipmi-priv-level <level>', levelMeaning)
    .option('--resource-class <class>', 'resource class: the kind of machine')
    .option('--trait <trait>', 'capability of the machine; may be repeated', collect, [])
    .option('--capability <name:value>', 'trait that a placement can require; may be repeated', collect, [])
    .option('--property <name=value>', `${propertyMeaning}; may be repeated`, collect, [])
    .option('--no-provide', 'do not make the node available')
    .option('--wait', 'wait until the node is available (with --no-provide: manageable); exit status 1 if it fails')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'node enrol rack1-7 --address https://10.0.0.7 --username admin --password-file ~/bmc.txt',
        'node enrol rack1-8 --address https://10.0.0.8 --capability profile:control --capability node:controller-0',
        'node enrol old-3 --driver ipmi --address 10.0.0.9 --username admin --password-file ~/bmc.txt',
      ),
    )
    .action(async (name, options) => {
      refuseIpmi(options);
      const enrolled = await (
        await context.part('nodes')
      ).enrol({
        name,
        driver: options.driver,
        address: options.address,
        port: options.ipmiPort,
        cipherSuite: options.ipmiCipherSuite,
        privLevel: options.ipmiPrivLevel,
        systemId: options.system,
        username: options.username,
        password: options.passwordFile === undefined ? undefined : await readSecret(options.passwordFile, context.cwd),
        verifyCa: options.verifyCa,
        resourceClass: options.resourceClass,
        ...(options.trait.length > 0 && { traits: options.trait }),
        properties: {
          ...Object.fromEntries(propertiesIn(options.property)),
          ...(options.capability.length > 0 && { capabilities: options.capability.join(',') }),
        },
        provide: options.provide,
      });
      const goal = options.provide ? 'available' : 'manageable';
      const shown = options.wait ? await untilEnrolled(context, enrolled.uuid, goal) : enrolled;
      output.one(options.output, shown, () => nodeFields(shown, context));
    });
}

/** @throws AnnealError InvalidRequest for an empty value of what a node must have */
function refuseEmpty(node: string, options: { name?: string; address?: string }): void {
  for (const required of ['name', 'address'] as const) {
    if (options[required] !== '') continue;
    throw new AnnealError('InvalidRequest', `Cannot change node ${node}: --${required} is empty.`);
  }
}

/** @throws AnnealError InvalidRequest for an option that only another driver has */
function refuseIpmi(options: { driver: string; ipmiPort?: string; ipmiCipherSuite?: string; ipmiPrivLevel?: string }) {
  const given = {
    '--ipmi-port': options.ipmiPort,
    '--ipmi-cipher-suite': options.ipmiCipherSuite,
    '--ipmi-priv-level': options.ipmiPrivLevel,
  };
  const [wrong] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (wrong !== undefined && options.driver !== 'ipmi') {
    throw new AnnealError('InvalidRequest', `${wrong} needs --driver ipmi; the driver is ${options.driver}.`);
  }
}

/** @throws AnnealError with the last error of the node, when its enrolment stops before the goal */
async function untilEnrolled(context: CliContext, node: string, goal: string): Promise<NodeRepresentation> {
  const nodes = await context.part('nodes');
  for (let last = ''; ;) {
    const shown = await nodes.show({ node });
    const state = shown.provision_state ?? '';
    if (state === goal) return shown;
    const error = errorText(shown);
    // A failed step leaves the node in a state without a target.
    const isOver = shown.target_provision_state === null && (error !== '' || / failed$|^error$/.test(state));
    if (isOver) {
      throw new AnnealError('Conflict', `Node ${shown.name ?? node} is ${state}, not ${goal}: ${error}`, {
        details: {
          remedy: `Correct it: anneal node set ${shown.name ?? node} …, then: anneal node provide ${shown.name ?? node}`,
        },
      });
    }
    const reason = error || (shown.bmc?.last_error?.message ?? '');
    const line = `${shown.name ?? node} is ${state}${reason === '' ? '' : `: ${reason}`} …`;
    if (line !== last) context.output.note(line);
    last = line;
    await delay(1000, undefined, { signal: context.interrupt });
  }
}

function addNodeSet(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('set <node>')
    .description("change a node's BMC access, name, resource class or flags")
    .option('--name <name>', 'new name')
    .addOption(
      new Option('--driver <driver>', `${driverMeaning}; needs the whole access again`).choices(machineDrivers),
    )
    .option('--address <url>', 'address of the BMC')
    .option('--system <path>', 'Redfish system on the BMC; empty if it has only one')
    .option('--username <name>', 'user of the BMC')
    .option('--password-file <file>', 'file that holds the password of that user')
    .option('--verify-ca <check>', `${verifyCaMeaning}; empty for the setting of the provisioning service`)
    .option('--ipmi-port <port>', `${portMeaning}; empty for the default`)
    .option('--ipmi-cipher-suite <number>', `${suiteMeaning}; empty for the default`)
    .option('--ipmi-priv-level <level>', `${levelMeaning}; empty for the default`)
    .option('--resource-class <class>', 'resource class: the kind of machine')
    .option('--description <text>', 'what the machine is for; empty for none')
    .option('--owner <project>', 'project that owns the machine; empty for none')
    .option('--lessee <project>', 'the only project whose servers it may get; empty for all')
    .addOption(new Option('--protected <state>', 'refuse to release or rebuild its server').choices(trueOrFalse))
    .option('--protected-reason <text>', 'why it is protected')
    .addOption(new Option('--retired <state>', 'give it no server any more').choices(trueOrFalse))
    .option('--retired-reason <text>', 'why it is retired')
    .option('--property <name=value>', `${propertyMeaning}; empty to remove it; may be repeated`, collect, [])
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'node set rack1-7 --password-file ~/new.txt',
        'node set rack1-7 --verify-ca sha256:9f86d081…',
        'node set rack1-7 --property rack=r1 --property power_domain=feed-a',
        'node set rack1-7 --property \'root_device={"serial": "S1"}\'',
      ),
    )
    .action(async (name, options) => {
      refuseEmpty(name, options);
      const nodes = await context.part('nodes');
      const present = await nodes.show({ node: name });
      const info = `driver_info/${options.driver ?? textOf(present['driver']) ?? 'redfish'}`;
      const given = {
        driver: options.driver,
        name: options.name,
        resource_class: options.resourceClass,
        [`${info}_address`]: options.address,
        [`${info}_username`]: options.username,
        [`${info}_password`]:
          options.passwordFile === undefined ? undefined : await readSecret(options.passwordFile, context.cwd),
        'driver_info/redfish_system_id': options.system,
        'driver_info/redfish_verify_ca': options.verifyCa,
        'driver_info/ipmi_port': options.ipmiPort,
        'driver_info/ipmi_cipher_suite': options.ipmiCipherSuite,
        'driver_info/ipmi_priv_level': options.ipmiPrivLevel,
        description: options.description,
        owner: options.owner,
        lessee: options.lessee,
        protected: options.protected,
        protected_reason: options.protectedReason,
        retired: options.retired,
        retired_reason: options.retiredReason,
        ...Object.fromEntries(propertiesIn(options.property).map(([key, value]) => [`properties/${key}`, value])),
      };
      const isAbsent = (path: string): boolean => {
        const [holder = '', key = ''] = path.split('/');
        return key !== '' && !Object.hasOwn((present[holder] as object | undefined) ?? {}, key);
      };
      const fields = Object.entries(given).flatMap(([path, value]): [string, Json][] => {
        if (value === undefined || (value === '' && isAbsent(path))) return [];
        if (path === 'protected' || path === 'retired') return [[path, value === 'true']];
        return [[path, value === '' ? null : value]];
      });
      if (fields.length === 0)
        throw new AnnealError('InvalidRequest', `Nothing to change in node ${name}: give at least one option.`);
      const changed = await nodes.set({ node: name, fields: Object.fromEntries(fields) });
      output.one(options.output, changed, () => nodeFields(changed, context));
    });
}

function addNodeRemove(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('remove <node>')
    .description('remove a node that has no server; the machine itself is not changed')
    .option('--force', 'in every state, also with a server: in maintenance, when its machine is proven to be off')
    .addOption(yesOption())
    .addHelpText('after', exampleText('node remove rack1-7', 'node remove rack1-8 --force'))
    .action(async (name, { force, yes }) => {
      const lost = force ? ['Its work ends, and a server that it has stays without a machine.'] : [];
      await confirm(context, {
        yes,
        what: () => [`Remove node ${name}. It has to be enrolled again to be used.`, ...lost],
      });
      await (await context.part('nodes')).remove({ node: name, force });
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
      const nodes = await context.part('nodes');
      if (target !== undefined) await nodes.power({ node: name, target: powerTargets[target] });
      const shown = await nodes.show({ node: name });
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
    .addOption(new Option('--verb <verb>', 'provision verb').choices(provisionVerbs).default('provide' as const))
    .option('--steps <file>', 'file with the steps of clean, rebuild or service, as a list in YAML or JSON')
    .option('--runbook <name>', 'runbook with the steps of clean or service')
    .option('--rescue-password-file <file>', 'file that holds the password of the rescue system')
    .addOption(yesOption())
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'node provide machine-1',
        'node provide machine-1 --verb inspect',
        'node provide machine-1 --verb service --steps bios.yaml',
      ),
    )
    .action(async (name, { verb, steps, runbook, rescuePasswordFile: password, yes, output: format }) => {
      const nodes = await context.part('nodes');
      if (erasingVerbs.has(verb)) {
        await confirm(context, { yes, what: async () => [erasureLine(await nodes.show({ node: name }))] });
      }
      await nodes.provision({
        node: name,
        target: verb,
        ...(steps !== undefined && { steps: await readSteps(steps, context.cwd) }),
        ...(runbook !== undefined && { runbook }),
        ...(password !== undefined && { rescuePassword: await readSecret(password, context.cwd) }),
      });
      const shown = await nodes.show({ node: name });
      output.one(format, shown, () => nodeFields(shown, context));
    });
}

/** The verbs that erase the disks of a node, or install them again. */
const erasingVerbs: ReadonlySet<string> = new Set(['deleted', 'rebuild', 'clean']);

const erasureLine = ({ name, uuid, instance_uuid: server }: NodeRepresentation): string =>
  `Erase node ${name ?? uuid}${server === null ? '' : `, which is in use by server ${server}`}.`;

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
      const nodes = await context.part('nodes');
      await nodes.maintenance({ node: name, on: state === 'on', reason });
      const shown = await nodes.show({ node: name });
      output.one(format, shown, () => nodeFields(shown, context));
    });
}

/** Properties whose values are names, which may be numbers. */
const nameProperties = new Set(['rack', 'power_domain', 'availability_zone', 'erase']);

/** A value that is JSON, as of the openstack command, or else text. */
const propertyValue = (name: string, text: string): Json => (nameProperties.has(name) ? text : jsonOrText(text));

/** @throws AnnealError InvalidRequest for text that is not `name=value`. */
function propertiesIn(texts: readonly string[]): [name: string, value: Json][] {
  return texts.map((text) => {
    const [, name, value] = /^([^=/~]+)=(.*)$/s.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, propertyValue(name, value)];
    throw new AnnealError('InvalidRequest', `--property: expected name=value, such as rack=r1, not ${text || 'empty'}`);
  });
}

/** Its turn among the nodes that wait for a slot. Null when it does not wait. */
function slotTextOf(node: NodeRepresentation): string | null {
  const { conditions } = node as { conditions?: readonly { type: string; message: string }[] };
  return conditions?.find(({ type }) => type === 'HasSlot')?.message ?? null;
}

/** The contact with its BMC. */
function bmcFields({ bmc }: NodeRepresentation, now: number): [string, string | null][] {
  if (bmc === null) return [];
  const { last_contact: contact, failures, breaker, last_error: error, next_try: next } = bmc;
  return [
    ['BMC answered', contact === null ? 'never' : `${contact} (${formatAge(contact, now)} ago)`],
    ['BMC breaker', breaker === 'open' ? 'open: no server gets the node until its BMC answers' : breaker],
    ...(failures === 0 ? [] : [['BMC failures', `${failures} in a row`] as [string, string]]),
    ...(error === null ? [] : [['BMC error', error.message] as [string, string]]),
    ['BMC next try', next],
  ];
}

function nodeFields(node: NodeRepresentation, { output: { colors }, now }: CliContext): (readonly [string, unknown])[] {
  return [
    ['name', node.name],
    ['id', node.uuid],
    ['state', paintStatus(node.provision_state, colors)],
    ['target', node.target_provision_state],
    ['power', paintStatus(node.power_state, colors)],
    ['class', node.resource_class],
    ['server', node.instance_uuid],
    ['description', textOf(node['description'])],
    ['retired', flagText(node['retired'], node['retired_reason'])],
    ['protected', flagText(node['protected'], node['protected_reason'])],
    ['lessee', textOf(node['lessee'])],
    ['maintenance', node.maintenance ? `yes: ${node.maintenance_reason ?? ''}` : 'no'],
    ['work', workOf(node)],
    ['waiting', slotTextOf(node)],
    ['progress', progressLineOf(node)],
    ['fault', node.fault],
    ['BMC', addressOf(node)],
    ...bmcFields(node, now()),
    ['consoles', node.consoles?.map(({ kind, protocol }) => `${kind} (${protocol})`).join(', ') ?? null],
    ['last error', errorText(node)],
    ...notesOf(node).map(({ type, message }) => [type, message] as const),
    ['properties', node['properties'] ?? {}],
  ];
}
