/**
 * The steps of a node's work. Each may run again from its beginning at any time, in this process or another: it looks
 * before it acts, and what it leaves behind is in the outcome or in the machine.
 */
import { createHash, randomBytes } from 'node:crypto';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { Bmcs } from './bmcs.ts';
import type { Hosts } from './hosts.ts';
import type { Boot, NodeDocument, Power } from './node-document.ts';
import type { NodeChange, NodeRecords } from './node-records.ts';
import type { Step } from './node-states.ts';

export type Outcome =
  /** Go on with the next step; after the last one, with the next state. */
  | { readonly kind: 'next'; readonly change?: NodeChange; readonly reason?: string; readonly verb?: 'keep' }
  /** Nothing to do before then, unless something happens. */
  | { readonly kind: 'wait'; readonly ms: number; readonly change?: NodeChange }
  /** Work that does not change the state is done. */
  | { readonly kind: 'rest'; readonly change: NodeChange }
  /** More of the same step, at once. */
  | { readonly kind: 'again'; readonly change: NodeChange };

export interface StepOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly bmcs: Bmcs;
  readonly hosts: Hosts;
  /** After this long without a fetch of the boot image, the machine is booted again. */
  readonly rebootAfterMs: number;
}

const boots = 3;
const settleAttempts = 3;

const textIn = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export function createSteps(options: StepOptions): Readonly<Record<Step, (node: NodeDocument) => Promise<Outcome>>> {
  const { context, records, bmcs, hosts } = options;
  const { secrets } = context;
  const now = (): number => context.now().getTime();

  const newBoot = (purpose: Boot['purpose'], host: JsonObject): Boot => {
    const secret = randomBytes(32).toString('base64url');
    return {
      purpose,
      secret: secrets.seal(secret),
      secret_hash: hashOf(secret),
      host: secrets.seal(host),
      method: null,
      tries: 0,
      powered_at: null,
      fetched_at: null,
      answered_at: null,
      report: null,
    };
  };
  const withinMs = (node: NodeDocument): number => 8_000 + 4_000 * Math.min(node.work?.attempts ?? 0, 10);
  const ensure = async (node: NodeDocument, wanted: Power): Promise<NodeChange> => {
    await bmcs.ensurePower(node, wanted, { withinMs: withinMs(node) });
    return { power: wanted };
  };
  const bootOf = (node: NodeDocument): Boot => {
    if (node.boot) return node.boot;
    throw new AnnealError('Defect', `Node ${node.name} is to boot without anything to boot.`);
  };
  const setBoot = async (node: NodeDocument): Promise<Boot> => {
    const boot = bootOf(node);
    const url = `${context.gatewayUrl.replace(/\/$/, '')}/boot/v1/${textIn(secrets.open(boot.secret))}`;
    const method = await bmcs.with(node, (machine) => machine.bootFrom(url));
    return { ...boot, method };
  };
  const powerOn = async (node: NodeDocument): Promise<NodeChange> => {
    const boot = bootOf(node);
    const hasFetched = async (): Promise<boolean> => {
      const current = (await records.get(node.id))?.boot;
      return current?.secret_hash === boot.secret_hash && current.fetched_at !== null;
    };
    await bmcs.ensurePower(node, 'power on', { withinMs: withinMs(node), proven: hasFetched });
    return {
      power: 'power on',
      boot: { ...boot, tries: boot.tries + 1, powered_at: context.now().toISOString() },
    };
  };

  /** Resolves with what to wait for; boots the machine again when it does not even fetch its image. */
  const awaitMachine = async (node: NodeDocument): Promise<Outcome> => {
    const boot = bootOf(node);
    const deadline = node.work?.deadline ?? now();
    const powered = Date.parse(boot.powered_at ?? '') || now();
    const rebootAt = powered + options.rebootAfterMs;
    if (boot.fetched_at !== null || boot.tries >= boots) return { kind: 'wait', ms: deadline - now() };
    if (now() < rebootAt) return { kind: 'wait', ms: Math.min(rebootAt, deadline) - now() };
    context.log.warn(
      { node: node.name, tries: boot.tries },
      'the machine does not fetch its boot image; it is booted again',
    );
    await ensure(node, 'power off');
    const set = await setBoot(node);
    const change = await powerOn({ ...node, boot: set });
    return { kind: 'again', change };
  };

  /** The machine works already; a controller that refuses this must not undo that. */
  const settle = async (node: NodeDocument): Promise<void> => {
    try {
      await bmcs.with(node, (machine) => machine.bootFromDisk());
    } catch (error) {
      if ((node.work?.attempts ?? 0) + 1 < settleAttempts) throw error;
      context.log.warn(
        { err: error, node: node.name },
        'the BMC does not take the disk as boot device; the machine may boot from elsewhere next time',
      );
    }
  };

  return {
    verify: async (node) => {
      const power = await bmcs.with(node, (machine) => machine.power());
      return { kind: 'next', change: { power }, reason: 'its BMC answers' };
    },

    inspect: async (node) => {
      const inventory = await bmcs.with(node, (machine) => machine.inventory());
      const properties = { ...inventory, inspected_at: context.now().toISOString() };
      return { kind: 'next', change: { properties }, reason: 'its inventory is read' };
    },

    'register host': async (node) => {
      const { name, project } = node.instance_info;
      const access = await hosts.create({ id: node.instance_id ?? '', name: textIn(name), project: textIn(project) });
      return { kind: 'next', change: { boot: newBoot('deploy', { ...access }) } };
    },

    'prepare cleaning': (node) =>
      Promise.resolve({
        kind: 'next',
        change: { boot: newBoot('clean', {}), facts: {}, reason: `cleaning ${node.name}` },
      }),

    'power off': async (node) => ({ kind: 'next', change: await ensure(node, 'power off'), reason: 'it is off' }),
    'set boot': async (node) => ({ kind: 'next', change: { boot: await setBoot(node) } }),
    'power on': async (node) => ({ kind: 'next', change: await powerOn(node), reason: 'it is on and boots' }),

    'await host': async (node) => {
      if (bootOf(node).answered_at !== null) return { kind: 'next' };
      return awaitMachine(node);
    },

    'await report': async (node) => {
      const { report } = bootOf(node);
      if (report?.status === 'cleaned') return { kind: 'next' };
      if (report)
        throw new AnnealError('ResourceFailed', `Node ${node.name} could not be cleaned: ${report.message}`, {
          details: { node: node.name },
        });
      return awaitMachine(node);
    },

    'power off after': async (node) => {
      // It turns itself off; only one that does not is turned off.
      await bmcs.with(node, (machine) => machine.awaitPower('power off', 3_000));
      return { kind: 'next', change: await ensure(node, 'power off') };
    },

    settle: async (node) => {
      await settle(node);
      if (node.state !== 'cleaning')
        return { kind: 'next', change: { boot: null }, reason: 'its agent asked for work' };
      const done = {
        kind: 'next',
        change: { boot: null },
        reason: node.boot?.report?.message ?? 'it is clean',
      } as const;
      return node.target === 'manageable' ? { ...done, verb: 'keep' } : done;
    },

    'forget host': async (node) => {
      await hosts.delete(node.instance_id ?? '', textIn(node.instance_info['project']));
      return { kind: 'next', change: { boot: null } };
    },

    'change power': async (node) => {
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
    },
  };
}

/** True for what asking again cannot mend, at once and not at the deadline. */
export function isHopeless(node: NodeDocument, error: unknown): boolean {
  if (!(error instanceof AnnealError)) return false;
  if (error.kind !== 'retry') return true;
  const status = toFailure(error).details?.['status'];
  return node.state === 'verifying' && (status === 401 || status === 403 || status === 404);
}
