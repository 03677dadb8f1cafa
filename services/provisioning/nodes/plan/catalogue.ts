/**
 * The steps that an operator, a runbook or a template may ask for, with their arguments. Pure.
 *
 * S1 A plan is checked as a whole before its first step runs: an unknown step or argument changes nothing.
 * S2 Each step may run again from its beginning. It reads what is so before it changes anything.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { lackOf, type DriverName } from '@anneal/contracts/drivers.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { NodeStep } from '@anneal/contracts/calls/nodes.ts';
import { json } from '@anneal/contracts/json.ts';
import { webAddressSchema } from '@anneal/contracts/readers/web-address.ts';
import { z } from 'zod';

const none = z.strictObject({});
const webAddress = webAddressSchema('expected an address that begins with http:// or https://');
const gigabytes = z.number().positive().max(1_000_000);

/** The arguments of each step, by `interface.step`. */
const stepArguments = {
  'power.power_on': none,
  'power.power_off': none,
  'power.reboot': none,
  /** Waits for an operator's `unhold`. */
  'power.hold': none,
  'power.wait': z.strictObject({ seconds: z.number().positive().max(86_400).default(60) }),
  'management.set_boot_mode': z.strictObject({ mode: z.enum(['uefi', 'bios']) }),
  'management.set_secure_boot': z.strictObject({ enabled: z.boolean() }),
  'bios.apply_configuration': z.strictObject({
    settings: z
      .array(z.strictObject({ name: z.string().min(1).max(255), value: json }))
      .min(1)
      .max(500),
  }),
  'bios.factory_reset': none,
  'raid.create_configuration': z.strictObject({
    logical_disks: z
      .array(
        z.strictObject({
          size_gb: z.union([gigabytes, z.literal('MAX')]),
          raid_level: z.enum(['0', '1', '5', '6', '1+0', '5+0', '6+0']),
          volume_name: z.string().min(1).max(64).optional(),
        }),
      )
      .min(1)
      .max(64),
  }),
  'raid.delete_configuration': none,
  'firmware.update': z.strictObject({
    settings: z
      .array(z.strictObject({ component: z.string().min(1).max(255), url: webAddress, wait: z.number().optional() }))
      .min(1)
      .max(20),
  }),
  /** In-band: the machine boots the ramdisk, which erases its disks. */
  'deploy.erase_devices': none,
} as const;
export type StepName = keyof typeof stepArguments;
export const stepNames = Object.keys(stepArguments) as readonly StepName[];

export type StepArguments<N extends StepName> = z.output<(typeof stepArguments)[N]>;

const isStep = (name: string): name is StepName => Object.hasOwn(stepArguments, name);
export const nameOf = ({ interface: kind, step }: Pick<NodeStep, 'interface' | 'step'>): string => `${kind}.${step}`;

/** Which steps are possible where: a node in use keeps its disks. */
const onlyInCleaning: readonly StepName[] = [
  'deploy.erase_devices',
  'raid.create_configuration',
  'raid.delete_configuration',
];

/**
 * @param driver of the node, when it is known
 * @throws AnnealError InvalidRequest that names every unknown or impossible step and wrong argument.
 */
export function checkSteps(
  steps: readonly NodeStep[],
  during: 'clean' | 'deploy' | 'service',
  driver?: DriverName,
): void {
  const mistakes: Mistake[] = steps.flatMap((step, at) => {
    const name = nameOf(step);
    const path = `steps.${at}`;
    if (!isStep(name))
      return [{ code: 'unknown_step', path, message: `there is no step ${name}; there are ${stepNames.join(', ')}` }];
    if (during === 'service' && onlyInCleaning.includes(name))
      return [{ code: 'unsafe_step', path, message: `${name} destroys data, so it runs only in a cleaning` }];
    if (during === 'deploy' && name === 'deploy.erase_devices')
      return [{ code: 'unsafe_step', path, message: `${name} runs only in a cleaning` }];
    const lack = driver && lackOf(driver, name);
    if (lack !== undefined) return [{ code: 'unsupported_step', path, message: `${name}: ${lack}` }];
    const { error } = safeParseExact(stepArguments[name], step.args);
    return (error?.issues ?? []).map((issue) => ({
      code: 'invalid_value',
      path: [path, 'args', ...issue.path].join('.'),
      message: issue.message,
    }));
  });
  if (mistakes.length === 0) return;
  const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The steps are not possible: ${all}`, { mistakes });
}

/** The arguments of a step that {@link checkSteps} accepted. */
export const argumentsOf = <N extends StepName>(name: N, step: NodeStep): StepArguments<N> =>
  safeParseExact(stepArguments[name], step.args).data as StepArguments<N>;
