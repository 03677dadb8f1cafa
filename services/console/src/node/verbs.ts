/** The actions of an operator on a node in each state. Pure. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import type { ProvisionVerb } from '@anneal/contracts/node-choices.ts';

/** The verbs that the console offers. Those with steps, and those that end the work of a stack, are left to commands. */
export type OfferedVerb = Extract<ProvisionVerb, 'provide' | 'inspect' | 'manage' | 'adopt' | 'abort' | 'unhold'>;

interface Offer {
  readonly label: string;
  /** The message after its success. */
  readonly done: (node: string) => string;
  /** The loss, of a verb that interrupts work. */
  readonly warning?: string;
}

const offers: Readonly<Record<OfferedVerb, Offer>> = {
  provide: { label: 'Make available', done: (node) => `${node} becomes available.` },
  inspect: { label: 'Inspect', done: (node) => `The inspection of ${node} has started.` },
  manage: { label: 'Manage', done: (node) => `${node} is taken out of use.` },
  adopt: { label: 'Adopt', done: (node) => `The adoption of ${node} has started.` },
  abort: {
    label: 'Abort',
    done: (node) => `The work on ${node} is aborted.`,
    warning: 'The work in progress on the machine ends where it is. The node is failed or held then, until you decide.',
  },
  unhold: { label: 'Continue', done: (node) => `The work on ${node} continues.` },
};
const verification: Offer = { label: 'Verify again', done: (node) => `The verification of ${node} has started.` };
const acceptance: Offer = {
  label: 'Accept this machine',
  done: (node) => `The machine that answers for ${node} is accepted, and is being verified.`,
  warning:
    'Another machine answers at the address of the node than the one that was enrolled. The node becomes this other machine, and loses the server that it had.',
};
const endOfPowerChange: Offer = {
  label: 'Abort',
  done: (node) => `The change of power of ${node} is aborted.`,
  warning: 'Anneal stops waiting for the power to change. The machine may still carry the command out later.',
};

const verbs: Readonly<Record<string, readonly OfferedVerb[]>> = {
  enroll: ['provide', 'manage'],
  verifying: ['abort'],
  manageable: ['provide', 'inspect', 'adopt'],
  inspecting: ['abort'],
  'inspect failed': ['inspect', 'manage'],
  available: ['manage'],
  deploying: ['abort'],
  'deploy hold': ['unhold', 'abort'],
  'wait call-back': ['abort'],
  cleaning: ['abort'],
  'clean hold': ['unhold', 'abort'],
  'clean failed': ['manage'],
  adopting: ['abort'],
  'adopt failed': ['adopt', 'manage'],
  rescuing: ['abort'],
  servicing: ['abort'],
  'service hold': ['unhold', 'abort'],
  'service failed': ['abort'],
};
/** In these states `manage` calls the BMC again. */
const unverified = ['enroll', 'inspect failed'];
/** In these states `manage` accepts another machine that answers at the address of the node. */
const accepting = ['enroll', 'manageable', 'inspect failed', 'available', 'clean failed', 'error', 'adopt failed'];

export type NodeNow = Pick<NodeRepresentation, 'provision_state' | 'target_power_state' | 'fault'>;

const isChangingPower = ({ target_power_state: target }: NodeNow): boolean => target !== null;
const isOther = ({ fault }: NodeNow): boolean => fault === 'identity mismatch';

export function verbsOf(node: NodeNow): readonly OfferedVerb[] {
  const state = node.provision_state ?? '';
  // A change of power that has not ended refuses every verb except the one that ends it.
  if (isChangingPower(node)) return ['abort'];
  const offered = verbs[state] ?? [];
  // No work begins on a machine that is not the enrolled one.
  if (isOther(node)) return accepting.includes(state) ? ['manage'] : offered.filter((verb) => verb === 'abort');
  return offered;
}

/** The words of a verb on a node in its state. */
export function offerOf(verb: OfferedVerb, node: NodeNow): Offer {
  if (verb === 'manage' && isOther(node)) return acceptance;
  if (verb === 'manage' && unverified.includes(node.provision_state ?? '')) return verification;
  if (verb === 'abort' && isChangingPower(node)) return endOfPowerChange;
  return offers[verb];
}

const removable = [
  'enroll',
  'manageable',
  'inspect failed',
  'available',
  'adopt failed',
  'clean failed',
  'deploy failed',
];
export const isRemovable = (state: string): boolean => removable.includes(state);
