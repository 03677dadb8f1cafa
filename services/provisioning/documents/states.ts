/**
 * The life of a node, after Ironic's. Pure.
 *
 * `stateFacts` says of each state when it is entered and left, `nodeTransitions` has every transition, and `steps` the work
 * of each working state. The page `docs/reference/node-states.md` is generated from them.
 *
 * `accept` is `manage` for a node with the fault `identity mismatch`: the operator accepts the answering machine as the
 * node's. The node is verified again, and loses its server, which was on the other machine.
 *
 * Work is a list of steps per state. `await slot` waits until the limits allow the work, and the time of the state begins after
 * it. A state without steps waits for a verb. `abort` leaves every working state and every
 * hold.
 */
import { nodeStates, type NodeState } from '@anneal/contracts/calls/nodes.ts';
import { type BootSeed } from '@anneal/contracts/calls/boot.ts';
import { provisionVerbs } from '@anneal/contracts/node-choices.ts';

export type BootPurpose = BootSeed['purpose'];

/** Verbs of users and programs, through the API or a resource. */
export const requestVerbs = [...provisionVerbs, 'accept'] as const;
/** Verbs of the service for its own work. `keep`: cleaned, but not made available. `hold`: a step asked for a pause. */
export const outcomeVerbs = ['done', 'keep', 'fail', 'hold'] as const;
export type Verb = (typeof requestVerbs)[number] | (typeof outcomeVerbs)[number];
export const verbs: readonly Verb[] = [...requestVerbs, ...outcomeVerbs];

/** When a state is entered and left, for readers. */
export const stateFacts: { readonly [S in NodeState]: readonly [entered: string, left: string] } = {
  enroll: [
    'The node is enrolled, or could not be verified.',
    'An operator sends `manage`, or `provide`, which continues to `available`.',
  ],
  verifying: [
    '`manage` or `provide`: the service calls the BMC and identifies the machine.',
    'The BMC answered, or did not in time.',
  ],
  manageable: ['The BMC answers.', 'An operator sends a verb.'],
  inspecting: ['`inspect`: the service reads the inventory.', 'The inventory is read, or could not be in time.'],
  'inspect failed': ['The inventory could not be read.', '`inspect` again, or `manage`.'],
  available: ['A server may claim the node.', 'A server claims it, or `manage`.'],
  deploying: [
    'A server claimed the node, or `rebuild`: the service prepares and boots it.',
    'It is powered on with its boot set.',
  ],
  'deploy hold': ['A step of the deployment asked for a pause.', '`unhold` or `abort`.'],
  'wait call-back': ['The machine boots and installs.', 'Its agent asks for work, or the deadline passes.'],
  'deploy failed': [
    'The deployment failed or was aborted. The server may have another node since.',
    '`rebuild`, the deletion of the server, or `deleted`.',
  ],
  active: [
    'The agent asked for work, or the machine is adopted.',
    'An operator sends a verb, or the server is deleted.',
  ],
  deleting: ['The server ends: power, then credentials.', 'The machine is off.'],
  cleaning: [
    'The machine boots to erase itself, or runs the steps of an operator.',
    'It reported and is off, or failed.',
  ],
  'clean hold': ['A step of the cleaning asked for a pause.', '`unhold` or `abort`.'],
  'clean failed': [
    'The machine may hold data of a user. It is turned off if it was turned on and did not boot the ramdisk: it may run the old system.',
    '`clean` again, or `manage` after a manual check.',
  ],
  error: ['The machine could not be released from its server.', '`deleted` again.'],
  adopting: [
    '`adopt`: the service verifies a machine that runs already, and changes nothing.',
    'The machine is verified, or not.',
  ],
  'adopt failed': ['The running machine could not be verified.', '`adopt` again, or `manage`.'],
  rescuing: [
    '`rescue`: the machine boots the rescue system; no disk is changed.',
    'The rescue system reported, or failed.',
  ],
  rescue: ['The rescue system runs.', '`unrescue`, or the deletion of the server.'],
  'rescue failed': [
    'The rescue system did not report, or the rescue was aborted.',
    '`rescue`, `unrescue`, or the deletion of the server.',
  ],
  unrescuing: ['`unrescue`: the machine boots from its disk again.', 'It is powered on, or could not be in time.'],
  'unrescue failed': [
    'The machine could not be started from its disk.',
    '`unrescue` or `rescue` again, or the deletion of the server.',
  ],
  servicing: ['`service`: the service runs steps on a node in use.', 'All steps are done, or one failed.'],
  'service hold': ['A step of the service asked for a pause.', '`unhold` or `abort`.'],
  'service failed': [
    'A step of the service failed, or it was aborted.',
    '`service` again, `abort` back to active, `rescue`, or the deletion of the server.',
  ],
};

export const nodeTransitions: { readonly [S in NodeState]: { readonly [V in Verb]?: NodeState } } = {
  // Ironic refuses `provide` here. Anneal verifies the node, then makes it available.
  enroll: { manage: 'verifying', provide: 'verifying', accept: 'verifying' },
  verifying: { done: 'manageable', fail: 'enroll', abort: 'enroll' },
  manageable: {
    inspect: 'inspecting',
    provide: 'available',
    clean: 'cleaning',
    adopt: 'adopting',
    manage: 'verifying',
    accept: 'verifying',
  },
  inspecting: { done: 'manageable', fail: 'inspect failed', abort: 'inspect failed' },
  'inspect failed': { inspect: 'inspecting', manage: 'verifying', accept: 'verifying' },
  available: { deploy: 'deploying', manage: 'manageable', accept: 'verifying' },
  deploying: {
    done: 'wait call-back',
    hold: 'deploy hold',
    fail: 'deploy failed',
    abort: 'deploy failed',
    deleted: 'deleting',
  },
  'deploy hold': { unhold: 'deploying', abort: 'deploy failed', deleted: 'deleting' },
  'wait call-back': { done: 'active', fail: 'deploy failed', abort: 'deploy failed', deleted: 'deleting' },
  'deploy failed': { rebuild: 'deploying', deleted: 'deleting' },
  active: { rebuild: 'deploying', rescue: 'rescuing', service: 'servicing', deleted: 'deleting' },
  deleting: { done: 'cleaning', fail: 'error', abort: 'error' },
  cleaning: {
    done: 'available',
    keep: 'manageable',
    hold: 'clean hold',
    fail: 'clean failed',
    abort: 'clean failed',
  },
  'clean hold': { unhold: 'cleaning', abort: 'clean failed' },
  'clean failed': { clean: 'cleaning', manage: 'manageable', accept: 'verifying' },
  error: { deleted: 'deleting', accept: 'verifying' },
  adopting: { done: 'active', fail: 'adopt failed', abort: 'adopt failed' },
  'adopt failed': { adopt: 'adopting', manage: 'manageable', accept: 'verifying' },
  rescuing: { done: 'rescue', fail: 'rescue failed', abort: 'rescue failed', deleted: 'deleting' },
  rescue: { rescue: 'rescuing', unrescue: 'unrescuing', deleted: 'deleting' },
  'rescue failed': { rescue: 'rescuing', unrescue: 'unrescuing', deleted: 'deleting' },
  unrescuing: { done: 'active', fail: 'unrescue failed', abort: 'unrescue failed', deleted: 'deleting' },
  'unrescue failed': { rescue: 'rescuing', unrescue: 'unrescuing', deleted: 'deleting' },
  servicing: {
    done: 'active',
    hold: 'service hold',
    fail: 'service failed',
    abort: 'service failed',
    deleted: 'deleting',
  },
  'service hold': { unhold: 'servicing', abort: 'service failed', deleted: 'deleting' },
  'service failed': { service: 'servicing', rescue: 'rescuing', abort: 'active', deleted: 'deleting' },
};

export const nextState = (state: NodeState, verb: Verb): NodeState | undefined => nodeTransitions[state][verb];

export const steps = {
  verifying: ['verify'],
  inspecting: ['inspect'],
  deploying: ['await slot', 'register host', 'run steps', 'power off', 'set boot', 'power on'],
  'wait call-back': ['await host', 'settle'],
  // The host exists as long as its machine may run, so that nothing takes its place before.
  deleting: ['power off', 'forget host'],
  cleaning: [
    'await slot',
    'run steps',
    'prepare boot',
    'power off',
    'set boot',
    'power on',
    'await report',
    'power off after',
    'settle',
  ],
  adopting: ['verify'],
  rescuing: ['prepare boot', 'power off', 'set boot', 'power on', 'await report', 'settle'],
  unrescuing: ['power off', 'settle', 'power on again'],
  servicing: ['run steps'],
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
export const seedStates: { readonly [P in BootPurpose]: readonly NodeState[] } = {
  deploy: ['deploying', 'wait call-back'],
  clean: ['cleaning'],
  rescue: ['rescuing'],
};

/** States after a failure, which only a verb ends. Until then their error stays, because an operator needs it. */
export const failedStates: readonly NodeState[] = nodeStates.filter(
  (state) => state.endsWith('failed') || state === 'error',
);

/** States in which only an operator's pause ends. The steps continue where they stopped. */
export const holdStates: readonly NodeState[] = ['clean hold', 'deploy hold', 'service hold'];

/** The next verb of a node at rest that has a `target`. */
export function verbTowards(options: {
  state: NodeState;
  target: NodeState | null;
  inspected: boolean;
  clean: boolean;
  retired: boolean;
}): Verb | undefined {
  if (options.target !== 'available' || options.retired) return undefined;
  if (options.state !== 'manageable') return undefined;
  if (!options.inspected) return 'inspect';
  return options.clean ? 'clean' : 'provide';
}

/** States in which a node without a server may be removed. A server that has failed may still have its node. */
export const removableStates: readonly NodeState[] = [
  'enroll',
  'manageable',
  'inspect failed',
  'available',
  'clean failed',
  'adopt failed',
  'deploy failed',
];
