/**
 * The steps of a node's work. Each may restart from its beginning at any time, in this process or another, because it
 * checks before it acts and its effects are in the outcome or in the machine.
 */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { pathFrom } from '@anneal/contracts/origin.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Bmcs } from '../bmc/bmcs.ts';
import { bootOf, BootSteps, type BootStepOptions } from '../../boot/boot-steps.ts';
import { inspectedProperties } from '../bmc/declared-properties.ts';
import type { ServerHosts } from '../../servers/hosts.ts';
import type { NodeDocument, Power, NodeChange } from '../document.ts';
import type { NodeRecords } from '../records.ts';
import type { ProvisionStep } from './states.ts';
import type { StepOutcome, Settled } from './step-outcome.ts';

export interface StepOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly bmcs: Bmcs;
  readonly hosts: ServerHosts;
  /** The machine is booted again after this long without proof of a boot and without progress. */
  readonly bootRetryMs: number;
}

/** Clears the warning, because the secret and the host's token are new, so a leaked one is invalid. */
const safeAgain: Settled = { clears: 'CredentialsSafe' };

const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export function createSteps(
  options: StepOptions,
): Readonly<Record<ProvisionStep, (node: NodeDocument) => Promise<StepOutcome>>> {
  const { context, records, bmcs, hosts } = options;
  const withinMs = (node: NodeDocument): number => 8_000 + 4_000 * Math.min(node.work?.attempts ?? 0, 10);
  const ensure = async (node: NodeDocument, wanted: Power): Promise<NodeChange> => {
    await bmcs.ensurePower(node, wanted, { withinMs: withinMs(node) });
    return { power: wanted };
  };
  const boots = new BootSteps({ context, records, bmcs, hosts, ensure, withinMs, retryMs: options.bootRetryMs });

  return {
    verify: async (node) => {
      const { power, identity } = await bmcs.with(node, (machine) => machine.verify());
      await records.learn(node, identity);
      return { kind: 'next', change: { power }, reason: 'its BMC answers' };
    },

    inspect: async (node) => {
      const { inventory, identity } = await bmcs.with(node, (machine) => machine.inventory());
      await records.learn(node, identity);
      const seen = { ...inventory, inspected_at: context.now().toISOString() };
      const properties = inspectedProperties(node.declared ?? {}, seen);
      return { kind: 'next', change: { properties }, reason: 'its inventory is read' };
    },

    'register host': async (node) => {
      const { name, project } = node.instance_info;
      const { origin } = node;
      const place = origin && { place: { root: origin.root, path: origin.path, tags: origin.tags } };
      const host = { id: node.instance_id ?? '', name: textIn(name), project: textIn(project), ...place };
      const access = await hosts.create(host);
      return { kind: 'next', change: { boot: boots.newBoot('deploy', { ...access }) }, settled: safeAgain };
    },

    'prepare cleaning': (node) =>
      Promise.resolve({
        kind: 'next',
        change: { boot: boots.newCleaningBoot(), facts: {}, reason: `cleaning ${node.name}` },
        settled: safeAgain,
      }),

    'power off': async (node) => ({ kind: 'next', change: await ensure(node, 'power off'), reason: 'it is off' }),
    'set boot': async (node) => ({ kind: 'next', change: { boot: await boots.setBoot(node) } }),
    'power on': async (node) => ({ kind: 'next', change: await boots.powerOn(node), reason: 'it is on and boots' }),

    'await host': async (node) => {
      if (bootOf(node).answered_at !== null) return { kind: 'next' };
      return boots.awaitMachine(node);
    },

    'await report': async (node) => {
      const { report } = bootOf(node);
      if (report?.status === 'cleaned') return { kind: 'next' };
      if (report)
        throw new AnnealError('ResourceFailed', `Node ${node.name} could not be cleaned: ${report.message}`, {
          details: { node: node.name },
        });
      return boots.awaitMachine(node);
    },

    'power off after': async (node) => {
      // The machine turns itself off. Turn it off only when it does not.
      await bmcs.with(node, (machine) => machine.awaitPower('power off', 3_000));
      return { kind: 'next', change: await ensure(node, 'power off') };
    },

    settle: async (node) => {
      const settled = await boots.settle(node);
      // Keep the boot without its secrets, to recognise a later attempt to use them.
      const change = { boot: node.boot && { ...node.boot, secret: null, host: null } };
      if (node.state !== 'cleaning') {
        const server = node.origin?.root ? pathFrom(node.origin) : textIn(node.instance_info['name']);
        return { kind: 'next', change, settled, reason: `deployed for ${server}` };
      }
      const done = { kind: 'next', change, settled, reason: node.boot?.report?.message ?? 'it is clean' } as const;
      return node.target === 'manageable' ? { ...done, verb: 'keep' } : done;
    },

    'forget host': async (node) => {
      const { origin } = node;
      const occasion = origin ? { actor: origin.actor, cause: origin.cause } : undefined;
      await hosts.delete(node.instance_id ?? '', textIn(node.instance_info['project']), occasion);
      return { kind: 'next', change: { boot: null } };
    },

    'change power': (node) => changePower({ bmcs, ensure }, node),
  };
}

async function changePower(
  { bmcs, ensure }: Pick<BootStepOptions, 'bmcs' | 'ensure'>,
  node: NodeDocument,
): Promise<StepOutcome> {
  const { power_target: target } = node;
  switch (target) {
    case null:
      return { kind: 'rest', change: {} };
    case 'power on':
    case 'power off':
      return { kind: 'rest', change: { ...(await ensure(node, target)), power_target: null } };
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
