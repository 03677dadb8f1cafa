/**
 * The life of a node, after Ironic's. Pure.
 *
 * | state          | entered when                                  | left when                                          |
 * | -------------- | --------------------------------------------- | -------------------------------------------------- |
 * | enroll         | it is enrolled, or could not be verified      | the operator sends `manage`                        |
 * | verifying      | `manage`: the service calls its BMC           | the BMC answered, or did not in time               |
 * | manageable     | its BMC answers                               | `inspect`, `provide` or `clean`                    |
 * | inspecting     | `inspect`: the service reads its inventory    | the inventory is read, or could not be in time     |
 * | inspect failed | the inventory could not be read               | `inspect` again, or `manage`                       |
 * | available      | it may be claimed for a server                | a server claims it, or `manage`                    |
 * | deploying      | it is claimed: the service prepares and boots | it is powered on with its boot set                 |
 * | wait call-back | the machine boots and installs                | its agent asks for work, or the deadline passes    |
 * | deploy failed  | one of these two states failed                | `deleted`; the server's failure has the reason     |
 * | active         | its agent asked for work                      | `deleted`                                          |
 * | deleting       | its server ends: credentials, then power      | it is off                                          |
 * | cleaning       | it boots to erase itself                      | it reported and is off, or failed                  |
 * | clean failed   | it may hold a user's data                     | `clean` again, or `manage` after a manual check    |
 * | error          | it could not be released from its server      | `deleted` again                                    |
 *
 * `accept` is `manage` for a node with the fault `identity mismatch`: the operator accepts the answering machine as the
 * node's. The node is verified again, and loses its server, which was on the other machine.
 *
 * Work is a list of steps per state. A state without steps waits for a verb. `abort` leaves every working state.
 */
import type { NodeState } from '@anneal/contracts/calls/provisioning.ts';

/** Verbs of users and programs, through the API or a resource. */
export const requestVerbs = ['manage', 'accept', 'inspect', 'provide', 'clean', 'deploy', 'deleted', 'abort'] as const;
/** Verbs of the service for its own work. `keep`: cleaned, but not made available. */
export const outcomeVerbs = ['done', 'keep', 'fail'] as const;
export type Verb = (typeof requestVerbs)[number] | (typeof outcomeVerbs)[number];
export const verbs: readonly Verb[] = [...requestVerbs, ...outcomeVerbs];

export const nodeTransitions: { readonly [S in NodeState]: { readonly [V in Verb]?: NodeState } } = {
  enroll: { manage: 'verifying', accept: 'verifying' },
  verifying: { done: 'manageable', fail: 'enroll', abort: 'enroll' },
  manageable: {
    inspect: 'inspecting',
    provide: 'available',
    clean: 'cleaning',
    manage: 'verifying',
    accept: 'verifying',
  },
  inspecting: { done: 'manageable', fail: 'inspect failed', abort: 'inspect failed' },
  'inspect failed': { inspect: 'inspecting', manage: 'verifying', accept: 'verifying' },
  available: { deploy: 'deploying', manage: 'manageable', accept: 'verifying' },
  deploying: { done: 'wait call-back', fail: 'deploy failed', abort: 'deploy failed', deleted: 'deleting' },
  'wait call-back': { done: 'active', fail: 'deploy failed', abort: 'deploy failed', deleted: 'deleting' },
  'deploy failed': { deleted: 'deleting' },
  active: { deleted: 'deleting' },
  deleting: { done: 'cleaning', fail: 'error', abort: 'error' },
  cleaning: { done: 'available', keep: 'manageable', fail: 'clean failed', abort: 'clean failed' },
  'clean failed': { clean: 'cleaning', manage: 'manageable', accept: 'verifying' },
  error: { deleted: 'deleting', accept: 'verifying' },
};

export const nextState = (state: NodeState, verb: Verb): NodeState | undefined => nodeTransitions[state][verb];

export const steps = {
  verifying: ['verify'],
  inspecting: ['inspect'],
  deploying: ['register host', 'power off', 'set boot', 'power on'],
  'wait call-back': ['await host', 'settle'],
  deleting: ['forget host', 'power off'],
  cleaning: ['prepare cleaning', 'power off', 'set boot', 'power on', 'await report', 'power off after', 'settle'],
} as const satisfies { readonly [S in NodeState]?: readonly string[] };
export type WorkingState = keyof typeof steps;
/** `change power` is work that does not change the state of the node. */
export type ProvisionStep = (typeof steps)[WorkingState][number] | 'change power';

export const isWorking = (state: NodeState): state is WorkingState => Object.hasOwn(steps, state);

export const firstStep = (state: NodeState): ProvisionStep | undefined =>
  isWorking(state) ? steps[state][0] : undefined;

/** The next step. Undefined after the last one, when the work of the state is done. */
export function stepAfter(state: NodeState, step: ProvisionStep): ProvisionStep | undefined {
  if (!isWorking(state)) return undefined;
  const list: readonly ProvisionStep[] = steps[state];
  return list[list.indexOf(step) + 1];
}

/** States in which a booting machine gets a seed. An active machine that asks again gets no credentials. */
export const seedStates: { readonly [P in 'deploy' | 'clean']: readonly NodeState[] } = {
  deploy: ['deploying', 'wait call-back'],
  clean: ['cleaning'],
};

/** The next verb of a node at rest that has a `target`. */
export function verbTowards(options: {
  state: NodeState;
  target: NodeState | null;
  inspected: boolean;
  clean: boolean;
}): Verb | undefined {
  if (options.target !== 'available') return undefined;
  if (options.state === 'enroll') return undefined;
  if (options.state !== 'manageable') return undefined;
  if (!options.inspected) return 'inspect';
  return options.clean ? 'clean' : 'provide';
}

/** States in which a node may be removed, because it holds no server and no user's data. */
export const removableStates: readonly NodeState[] = [
  'enroll',
  'manageable',
  'inspect failed',
  'available',
  'clean failed',
];
