/** The actions of an operator on a node in each state. Pure. */
import type { ProvisionVerb } from '@anneal/contracts/calls/provisioning.ts';

/** The verbs that the console offers. Those with steps, and those that end the work of a stack, are left to commands. */
export type OfferedVerb = Extract<ProvisionVerb, 'provide' | 'inspect' | 'manage' | 'adopt' | 'abort' | 'unhold'>;

export const verbLabels: Readonly<Record<OfferedVerb, string>> = {
  provide: 'Make available',
  inspect: 'Inspect',
  manage: 'Manage',
  adopt: 'Adopt',
  abort: 'Abort',
  unhold: 'Continue',
};

/** The losses; only for verbs that interrupt work. */
export const verbWarnings: { readonly [V in OfferedVerb]?: string } = {
  abort: 'The work in progress on the machine ends where it is. The node is failed or held then, until you decide.',
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

export const verbsOf = (state: string): readonly OfferedVerb[] => verbs[state] ?? [];

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
