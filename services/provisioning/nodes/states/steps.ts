/**
 * The steps of a node's work. Each may restart from its beginning at any time, in this process or another, because it
 * checks before it acts and its effects are in the outcome or in the machine.
 */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { pathFrom } from '@anneal/contracts/origin.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Bmcs } from '../../bmcs.ts';
import type { Fencing } from '../fencing.ts';
import { bootOf, BootSteps, type BootStepOptions } from './boot-steps.ts';
import { portsCondition, type PortClaims } from '../../assets/port-claims.ts';
import { inspectedProperties } from '../../bmc/declared-properties.ts';
import type { InspectionRules } from '../../inspection/rules.ts';
import { planAfterStep, PlanRunner } from '../plan/run.ts';
import { hasMachine } from '../../fake/machine.ts';
import type { ServerHosts } from './hosts.ts';
import type { NodeDocument, Power, NodeChange } from '../../documents/node.ts';
import type { HardwareRecords } from '../hardware-settings.ts';
import type { NodeRecords } from '../../documents/records.ts';
import type { Slots } from '../slots/slots.ts';
import type { ProvisionStep } from '../../documents/states.ts';
import type { StepOutcome, Settled } from './step-outcome.ts';

export interface StepOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly bmcs: Bmcs;
  readonly hosts: ServerHosts;
  readonly slots: () => Slots;
  readonly fencing: Fencing;
  readonly hardware: HardwareRecords;
  readonly rules: Pick<InspectionRules, 'apply'>;
  readonly claims: Pick<PortClaims, 'claimed'>;
  /** The machine is booted again after this long without proof of a boot and without progress. */
  readonly bootRetryMs: number;
  /** The machine is booted again when its firmware got a part of its boot file and asked for nothing for this long. */
  readonly bootLoadMs: number;
}

/** How often the step looks whether a host that boots again has asked for work. */
const hostLookMs = 5_000;

/** A node that gets a slot is woken. This limits the delay after a lost wake-up. */
const slotLookMs = 30_000;

/** Clears the warning, because the secret and the host's token are new, so a leaked one is invalid. */
const safeAgain: Settled = { clears: 'CredentialsSafe' };

const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const offNow = { power: 'power off' } as const;

export function createSteps(
  options: StepOptions,
): Readonly<Record<ProvisionStep, (node: NodeDocument) => Promise<StepOutcome>>> {
  const { context, records, bmcs, hosts, slots, fencing, hardware } = options;
  const withinMs = (node: NodeDocument): number => 8_000 + 4_000 * Math.min(node.work?.attempts ?? 0, 10);
  const ensure = async (node: NodeDocument, wanted: Power): Promise<NodeChange> => {
    await bmcs.ensurePower(node, wanted, { withinMs: withinMs(node) });
    return { power: wanted };
  };
  const fence = (node: NodeDocument): Promise<string> => fencing.off(node, { withinMs: withinMs(node) });
  const plan = new PlanRunner({ bmcs, context });
  const { bootRetryMs: retryMs, bootLoadMs: loadMs } = options;
  const boots = new BootSteps({ context, records, bmcs, hosts, ensure, withinMs, retryMs, loadMs });

  return {
    verify: async (node) => {
      const { power, identity } = await bmcs.with(node, (machine) => machine.verify());
      await records.learn(node, identity);
      // Else the inspection that follows reads them.
      if (node.target !== 'available') await hardware.read(node);
      return { kind: 'next', change: { power }, reason: 'its BMC answers' };
    },

    inspect: (node) => inspect(options, node),

    'await slot': async (node) => {
      const turn = await slots().ask(node.id);
      return turn ? { kind: 'wait', ms: slotLookMs } : { kind: 'next', renewed: true };
    },

    'register host': (node) => registerHost({ hosts, boots }, node),

    'run steps': async (node) => readIfChanged(hardware, node, await plan.run(node)),

    'prepare boot': (node) => {
      const boot =
        node.state === 'rescuing' ? boots.newRescueBoot(node.rescue_password ?? null) : boots.newCleaningBoot();
      const facts = node.state === 'cleaning' ? { facts: {} } : {};
      return Promise.resolve({ kind: 'next', change: { boot, ...facts, rescue_password: null }, settled: safeAgain });
    },

    'power off': async (node) => {
      // The server ends when its machine is proven to be off. Other work needs the BMC afterwards.
      if (node.state === 'deleting') return { kind: 'next', change: offNow, reason: await fence(node) };
      return { kind: 'next', change: await ensure(node, 'power off'), reason: 'it is off' };
    },
    'set boot': async (node) => ({ kind: 'next', change: { boot: await boots.setBoot(node) } }),
    'power on': async (node) => ({ kind: 'next', change: await boots.powerOn(node), reason: 'it is on and boots' }),

    'await host': async (node) => {
      if (!hasMachine(node)) return { kind: 'next' };
      if (bootOf(node).answered_at !== null || (await boots.isBack(node))) return { kind: 'next' };
      const outcome = (await boots.afterReport(node)) ?? (await boots.awaitMachine(node));
      // The host may be up already, so no event reports that it is back.
      const looks = bootOf(node).rebuild === true && outcome.kind === 'wait';
      return looks ? { ...outcome, ms: Math.min(outcome.ms, hostLookMs) } : outcome;
    },

    'await report': async (node) => {
      if (!hasMachine(node)) return { kind: 'next' };
      const { report } = bootOf(node);
      const wanted = node.state === 'rescuing' ? 'ready' : 'cleaned';
      if (report?.status === wanted) return { kind: 'next' };
      if (report) {
        const done = node.state === 'rescuing' ? 'rescued' : 'cleaned';
        throw new AnnealError('ResourceFailed', `Node ${node.name} could not be ${done}: ${report.message}`, {
          details: { node: node.name },
        });
      }
      return boots.awaitMachine(node);
    },

    'power off after': async (node) => {
      // The machine turns itself off. Turn it off only when it does not.
      await bmcs.with(node, (machine) => machine.awaitPower('power off', 3_000));
      return { kind: 'next', change: await ensure(node, 'power off') };
    },

    settle: (node) => settle(boots, node),

    'power on again': async (node) => ({
      kind: 'next',
      change: await ensure(node, 'power on'),
      reason: 'it boots from its disk',
    }),

    'forget host': (node) => forgetHost(hosts, node),

    'change power': (node) => changePower({ bmcs, ensure, fence }, node),
  };
}

/** Reads the inventory, applies the inspection rules and claims the ports. */
async function inspect(
  { context, records, bmcs, hardware, rules, claims }: StepOptions,
  node: NodeDocument,
): Promise<StepOutcome> {
  const { inventory, identity } = await bmcs.with(node, (machine) => machine.inventory());
  await records.learn(node, identity);
  await hardware.read(node);
  const seen = { ...inventory, inspected_at: context.now().toISOString() };
  const properties = inspectedProperties(node.declared ?? {}, seen);
  const ruled = await rules.apply(node, properties);
  const { warning, ...own } = await claims.claimed(node, ruled.properties ?? properties);
  const settled: Settled = warning ? { warning } : { clears: portsCondition };
  return { kind: 'next', change: { ...ruled, ...own }, reason: 'its inventory is read', settled };
}

/** Reads the settings again after steps that changed them. */
async function readIfChanged(
  hardware: HardwareRecords,
  node: NodeDocument,
  outcome: StepOutcome,
): Promise<StepOutcome> {
  const { plan } = node;
  const changes = plan?.steps.some(({ interface: kind }) => kind === 'bios' || kind === 'firmware') ?? false;
  if (plan && changes && plan.at >= plan.steps.length) await hardware.read(node);
  return outcome;
}

async function registerHost(
  { hosts, boots }: { hosts: ServerHosts; boots: BootSteps },
  node: NodeDocument,
): Promise<StepOutcome> {
  // Nothing boots, so no agent asks for work.
  if (!hasMachine(node)) return { kind: 'next', change: { boot: boots.newBoot('deploy', {}) } };
  const { name, project } = node.instance_info;
  const { origin } = node;
  const place = origin && { place: { root: origin.root, path: origin.path, tags: origin.tags } };
  const host = { id: node.instance_id ?? '', name: textIn(name), project: textIn(project), ...place };
  const access = await hosts.create(host);
  // The system on the disk has the old token. It ends before the machine is booted again.
  // So does one on a machine that failed before.
  const rebuild = node.boot !== null || typeof node.instance_info['attempt'] === 'number';
  const token = rebuild ? await hosts.renewToken(host.id, host.project) : access.token;
  const boot = { ...boots.newBoot('deploy', { ...access, token }), rebuild };
  return { kind: 'next', change: { boot }, settled: safeAgain };
}

async function forgetHost(hosts: ServerHosts, node: NodeDocument): Promise<StepOutcome> {
  const { origin } = node;
  const done = { kind: 'next', change: { boot: null }, reason: 'it is off and its server has left it' } as const;
  // An adopted machine has no server, so it has no host either. Neither has a reserved one.
  if (node.instance_id === null || node.reserved === true) return done;
  const occasion = origin ? { actor: origin.actor, cause: origin.cause } : undefined;
  await hosts.delete(node.instance_id, textIn(node.instance_info['project']), occasion);
  return done;
}

/** A machine that its BMC started from the disk was set to it then. */
async function settledOf(boots: BootSteps, node: NodeDocument): Promise<Settled> {
  const disk = node.state === 'wait call-back' ? node.boot?.disk : undefined;
  if (!disk) return boots.settle(node);
  return disk.warning ? { warning: disk.warning } : { clears: 'BootsFromDisk' };
}

/** Sets the machine to boot from its disk, and ends the use of the boot. */
async function settle(boots: BootSteps, node: NodeDocument): Promise<StepOutcome> {
  const settled = await settledOf(boots, node);
  if (node.state === 'unrescuing') return { kind: 'next', settled };
  // Keep the boot without its secrets, to recognise a later attempt to use them.
  const change = { boot: node.boot && { ...node.boot, secret: null, host: null } };
  const message = node.boot?.report?.message;
  if (node.state === 'rescuing') return { kind: 'next', change, settled, reason: message ?? 'the rescue system runs' };
  if (node.state !== 'cleaning') {
    if (!hasMachine(node)) return { kind: 'next', change, settled, reason: 'deployed, without a machine' };
    const server = node.origin?.root ? pathFrom(node.origin) : textIn(node.instance_info['name']);
    return { kind: 'next', change, settled, reason: `deployed for ${server}` };
  }
  const done = { kind: 'next', change, settled, reason: message ?? 'it is clean' } as const;
  // An operator's cleaning continues with its next step.
  if (node.plan) return { ...done, to: 'run steps', change: { ...change, plan: planAfterStep(node.plan) } };
  return node.target === 'manageable' || node.retired ? { ...done, verb: 'keep' } : done;
}

async function changePower(
  {
    bmcs,
    ensure,
    fence,
  }: Pick<BootStepOptions, 'bmcs' | 'ensure'> & { fence: (node: NodeDocument) => Promise<string> },
  node: NodeDocument,
): Promise<StepOutcome> {
  const { power_target: target } = node;
  switch (target) {
    case null:
      return { kind: 'rest', change: {} };
    case 'power on':
      return { kind: 'rest', change: { ...(await ensure(node, target)), power_target: null } };
    case 'power off':
      await fence(node);
      return { kind: 'rest', change: { ...offNow, power_target: null } };
    case 'rebooting':
      return { kind: 'again', change: { ...(await ensure(node, 'power off')), power_target: 'power on' } };
    case 'soft power off':
    case 'soft rebooting':
      await bmcs.ensurePower(node, 'power off', { withinMs: 20_000, change: 'soft power off' });
      return target === 'soft rebooting'
        ? { kind: 'again', change: { power: 'power off', power_target: 'power on' } }
        : { kind: 'rest', change: { power: 'power off', power_target: null } };
  }
}

/** True for an error that a retry cannot fix, so that the step fails at once and not at the deadline. */
export function isHopeless(node: NodeDocument, error: unknown): boolean {
  if (!(error instanceof AnnealError)) return false;
  if (error.kind !== 'retry') return true;
  const { status, method, unfit } = toFailure(error).details ?? {};
  // A POST is not repeated by the transport. Retry it once here, in case the controller was briefly busy.
  if (method === 'POST' && status === 500) return (node.work?.attempts ?? 0) > 0;
  return node.state === 'verifying' && (status === 404 || unfit === true);
}
