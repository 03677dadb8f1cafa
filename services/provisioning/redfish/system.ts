/** Checks that an answer describes a machine that can be driven. Pure. */
import type { Change } from '../bmc/port.ts';
import type { Power } from '../documents/node.ts';
import type { RedfishAnswer } from './transport.ts';

type Body = Readonly<Record<string, unknown>>;

export const resetsFor = {
  'power on': ['On', 'ForceOn', 'PushPowerButton'],
  'power off': ['ForceOff', 'PushPowerButton'],
  'soft power off': ['GracefulShutdown', 'PushPowerButton'],
} as const satisfies Readonly<Record<Change, readonly string[]>>;

const powers = ['On', 'Off', 'PoweringOn', 'PoweringOff', 'Paused'];

/** The power state. Null when it is unknown or changing. */
export function powerIn(system: Body): Power | null {
  return system['PowerState'] === 'On' ? 'power on' : system['PowerState'] === 'Off' ? 'power off' : null;
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

/** The reasons why this is not a ComputerSystem with readable power. Empty when it is one. */
export function strangenessOf({ body, problem }: RedfishAnswer): string[] {
  if (problem !== undefined) return [problem];
  const found: string[] = [];
  const { '@odata.type': type, Id: id, PowerState: power } = body;
  if (typeof type !== 'string' || !type.startsWith('#ComputerSystem.'))
    found.push(`@odata.type is ${shownValue(type)}, expected #ComputerSystem.…`);
  if (typeof id !== 'string' || id === '') found.push(`Id is ${shownValue(id)}, expected a string`);
  if (power !== undefined && power !== null && !powers.some((known) => known === power))
    found.push(`PowerState is ${shownValue(power)}, expected one of ${powers.join(', ')}`);
  return found;
}

export interface ResetAction {
  readonly target: string;
  /** Undefined when the controller does not list them. */
  readonly allowed: readonly string[] | undefined;
}

/** @param info the Parameters of the action's @Redfish.ActionInfo, where the system has no inline list. */
export function resetAction(system: Body, info?: Body): ResetAction | string {
  const actions = system['Actions'] as Body | undefined;
  const action = typeof actions === 'object' && actions !== null ? actions['#ComputerSystem.Reset'] : undefined;
  if (typeof action !== 'object' || action === null) return 'it has no reset action (Actions/#ComputerSystem.Reset)';
  const { target, 'ResetType@Redfish.AllowableValues': inline } = action as Body;
  if (typeof target !== 'string' || !target.startsWith('/'))
    return `the target of its reset action is ${shownValue(target)}, expected a path`;
  const allowed = inline ?? allowedIn(info);
  if (allowed === undefined) return { target, allowed: undefined };
  const isList = Array.isArray(allowed) && allowed.every((value) => typeof value === 'string');
  if (!isList) return `the allowable values of its reset action are ${shownValue(allowed)}, expected a list of strings`;
  return { target, allowed };
}

function allowedIn(info: Body | undefined): unknown {
  const parameters = info?.['Parameters'];
  if (!Array.isArray(parameters)) return undefined;
  const reset = parameters.find((entry: unknown) => (entry as Body | null)?.['Name'] === 'ResetType') as
    | Body
    | undefined;
  return reset?.['AllowableValues'];
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
