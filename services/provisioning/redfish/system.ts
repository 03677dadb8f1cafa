/** Checks that an answer describes a machine that can be driven. Pure. */
import type { Change } from '../bmc/port.ts';
import type { Power } from '../documents/node.ts';
import type { BmcAction } from './conversation/action.ts';
import type { RedfishAnswer } from './conversation/transport.ts';

type Body = Readonly<Record<string, unknown>>;

export const resetsFor = {
  'power on': ['On', 'ForceOn', 'PushPowerButton'],
  'power off': ['ForceOff', 'PushPowerButton'],
  'soft power off': ['GracefulShutdown', 'PushPowerButton'],
} as const satisfies Readonly<Record<Change, readonly string[]>>;

const powers: Readonly<Record<string, Power>> = { on: 'power on', off: 'power off' };

/** The power state. Null when it is unknown or changing: vendors have words of their own, such as Reset and Starting. */
export function powerIn({ PowerState: shown }: Body): Power | null {
  const word = typeof shown === 'string' ? shown.toLowerCase() : '';
  return Object.hasOwn(powers, word) ? (powers[word] ?? null) : null;
}

/** Why the power cannot be read, ever. Empty for a word that the standard does not have, after which another may follow. */
export function powerProblems({ PowerState: shown }: Body): string[] {
  const isWord = shown === undefined || shown === null || typeof shown === 'string';
  return isWord ? [] : [`PowerState is ${shownValue(shown)}, expected a word such as On or Off`];
}

/** A value for an error message: short, and safe to print. */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'absent';
  try {
    return JSON.stringify(value).slice(0, 80);
  } catch {
    return 'an unprintable value';
  }
}

/** The reasons why this is not a ComputerSystem. Empty when it is one. */
export function strangenessOf({ body, problem }: RedfishAnswer): string[] {
  if (problem !== undefined) return [problem];
  const found: string[] = [];
  const { '@odata.type': type, Id: id } = body;
  if (typeof type !== 'string' || !type.startsWith('#ComputerSystem.'))
    found.push(`@odata.type is ${shownValue(type)}, expected #ComputerSystem.…`);
  if (typeof id !== 'string' || id === '') found.push(`Id is ${shownValue(id)}, expected a string`);
  return found;
}

export const resetName = '#ComputerSystem.Reset';

export interface ResetAction {
  readonly target: string;
  /** Undefined when the controller does not list them. */
  readonly allowed: readonly string[] | undefined;
}

/** @param action of the system; undefined when it has none */
export function resetAction(action: BmcAction | undefined): ResetAction | string {
  if (action === undefined) return `it has no reset action (Actions/${resetName})`;
  const { target, parameters } = action;
  if (typeof target !== 'string' || target === '')
    return `the target of its reset action is ${shownValue(target)}, expected an address`;
  return { target, allowed: parameters.find(({ name }) => name === 'ResetType')?.allowed };
}

/** The first allowed reset type for this change. */
export function resetFor(change: Change, { allowed }: ResetAction): string | undefined {
  return resetsFor[change].find((type) => allowed === undefined || allowed.includes(type));
}

/** The reasons why the power cannot be driven. Empty when it can. */
export function resetProblems(action: ResetAction | string): string[] {
  if (typeof action === 'string') return [action];
  return (['power on', 'power off'] as const)
    .filter((change) => resetFor(change, action) === undefined)
    .map(
      (change) =>
        `none of its resets (${action.allowed?.slice(0, 12).join(', ')}) can ${change.replace('power', 'turn it')}`,
    );
}
