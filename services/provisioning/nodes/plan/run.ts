/**
 * Runs the steps of a node's plan, one after the other.
 *
 * P1 The number of done steps is stored with the outcome of each, over the work that ran it, so a step of an aborted or
 *    replaced plan never counts.
 * P2 A step that must boot a machine whose disk has no owner stops it in the firmware's setup, where the firmware
 *    allows that, so that no old system starts.
 */
import type { NodeStep } from '@anneal/contracts/calls/nodes.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Bmcs } from '../../bmcs.ts';
import type { BmcMachine } from '../../bmc/port.ts';
import type { NodeDocument, NodePlan } from '../../documents/node.ts';
import type { StepOutcome } from '../states/step-outcome.ts';
import type { StepProgress } from '../../documents/progress.ts';
import { argumentsOf, nameOf, type StepName } from './catalogue.ts';

export const planAfterStep = (plan: NodePlan): NodePlan => ({ ...plan, at: plan.at + 1, memo: {} });

interface RunningStep {
  readonly node: NodeDocument;
  readonly step: NodeStep;
  readonly memo: JsonObject;
  /** Work with the BMC. It checks the identity of the machine first. */
  readonly withMachine: <T>(work: (machine: BmcMachine) => Promise<T>) => Promise<T>;
}

const done = { kind: 'done' } as const;
const powerMs = 60_000;
const lookMs = 1_000;

export class PlanRunner {
  readonly #bmcs: Bmcs;
  readonly #context: Pick<ServiceContext, 'now'>;
  readonly #steps: Readonly<Record<StepName, (running: RunningStep) => Promise<StepProgress>>>;

  constructor({ bmcs, context }: { bmcs: Bmcs; context: Pick<ServiceContext, 'now'> }) {
    this.#bmcs = bmcs;
    this.#context = context;
    this.#steps = this.#handlers();
  }

  async run(node: NodeDocument): Promise<StepOutcome> {
    const { plan } = node;
    const step = plan?.steps[plan.at];
    if (!plan || !step) return this.#end(node);
    const name = nameOf(step) as StepName;
    await faultPoint(`provisioning.plan.${name}`);
    const running: RunningStep = {
      node,
      step,
      memo: plan.memo,
      withMachine: (work) => this.#bmcs.with(node, work),
    };
    const progress = await this.#steps[name](running);
    switch (progress.kind) {
      case 'done':
        return { kind: 'again', change: { plan: planAfterStep(plan) } };
      case 'wait':
        return { kind: 'wait', ms: progress.ms, change: { plan: { ...plan, memo: progress.memo } } };
      case 'restart':
        await this.#restart(node);
        return { kind: 'wait', ms: lookMs, change: { plan: { ...plan, memo: progress.memo } } };
      case 'hold':
        return {
          kind: 'hold',
          change: { plan: planAfterStep(plan) },
          reason: `step ${plan.at + 1} of ${plan.steps.length} is a pause`,
        };
      case 'boot':
        return { kind: 'next', to: 'prepare boot' };
    }
  }

  /** After the last step. An automated cleaning has no plan and always erases. */
  async #end(node: NodeDocument): Promise<StepOutcome> {
    const { plan } = node;
    if (!plan || node.state !== 'cleaning') return { kind: 'next', reason: planReason(plan) };
    await this.#bmcs.with(node, (machine) => machine.bootFromDisk());
    await this.#bmcs.ensurePower(node, 'power off', { withinMs: powerMs });
    // The last step of the state, so its work is done.
    return { kind: 'end', verb: 'keep', change: { power: 'power off' }, reason: planReason(plan) };
  }

  /** P2 */
  async #restart(node: NodeDocument): Promise<void> {
    const wasOff = (await this.#bmcs.with(node, (machine) => machine.power())) === 'power off';
    if (!wasOff) await this.#bmcs.ensurePower(node, 'power off', { withinMs: powerMs });
    if (node.state !== 'servicing') await this.#bmcs.with(node, (machine) => machine.stopInSetup());
    await this.#bmcs.ensurePower(node, 'power on', { withinMs: powerMs });
  }

  #handlers(): Readonly<Record<StepName, (running: RunningStep) => Promise<StepProgress>>> {
    const power = async (node: NodeDocument, wanted: 'power on' | 'power off'): Promise<StepProgress> => {
      await this.#bmcs.ensurePower(node, wanted, { withinMs: powerMs });
      return done;
    };
    return {
      'power.power_on': ({ node }) => power(node, 'power on'),
      'power.power_off': ({ node }) => power(node, 'power off'),
      'power.reboot': async ({ node, memo }) => {
        if (memo['off'] === true) return power(node, 'power on');
        await power(node, 'power off');
        return { kind: 'wait', ms: 1, memo: { off: true } };
      },
      'power.hold': () => Promise.resolve({ kind: 'hold' }),
      'power.wait': ({ step, memo }) => Promise.resolve(this.#wait(argumentsOf('power.wait', step).seconds, memo)),
      'management.set_boot_mode': async ({ step, withMachine }) => {
        const { mode } = argumentsOf('management.set_boot_mode', step);
        await withMachine((machine) => machine.hardware.setBootMode(mode === 'uefi' ? 'UEFI' : 'Legacy'));
        return done;
      },
      'management.set_secure_boot': ({ step, memo, withMachine }) =>
        withMachine((machine) =>
          machine.hardware.applySecureBoot({ enabled: argumentsOf('management.set_secure_boot', step).enabled, memo }),
        ),
      'bios.apply_configuration': ({ step, memo, withMachine }) => {
        const { settings } = argumentsOf('bios.apply_configuration', step);
        const wanted = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
        return withMachine((machine) => machine.hardware.applyBios({ wanted, memo }));
      },
      'bios.factory_reset': ({ memo, withMachine }) => withMachine((machine) => machine.hardware.resetBios(memo)),
      'raid.create_configuration': ({ step, memo, withMachine }) => {
        const { logical_disks: disks } = argumentsOf('raid.create_configuration', step);
        return withMachine((machine) => machine.hardware.createVolumes({ disks, memo }));
      },
      'raid.delete_configuration': ({ memo, withMachine }) =>
        withMachine((machine) => machine.hardware.deleteVolumes(memo)),
      'firmware.update': ({ step, memo, withMachine }) => {
        const { settings } = argumentsOf('firmware.update', step);
        return withMachine((machine) => machine.hardware.applyFirmware({ settings, memo }));
      },
      'deploy.erase_devices': () => Promise.resolve({ kind: 'boot' }),
    };
  }

  #wait(seconds: number, { until }: JsonObject): StepProgress {
    const now = this.#context.now().getTime();
    const end = typeof until === 'number' ? until : now + seconds * 1000;
    return now >= end ? done : { kind: 'wait', ms: end - now, memo: { until: end } };
  }
}

const planReason = (plan: NodePlan | null | undefined): string =>
  plan ? `${plan.steps.length} step${plan.steps.length === 1 ? ' is' : 's are'} done` : 'there are no further steps';
