/** A machine that exists only in the document of its node: the driver `fake-hardware`. Pure. */
import type { FakeMachine, NodeDocument } from '../documents/node.ts';

/** False for a node of the driver `fake-hardware`: it never boots, so nothing reports. */
export const hasMachine = ({ driver }: Pick<NodeDocument, 'driver'>): boolean => driver !== 'fake-hardware';

/** A new machine, and one whose node was changed by no client yet. */
const fresh: FakeMachine = {
  power: 'power off',
  boot_device: 'pxe',
  persistent: false,
  boot_mode: 'uefi',
  secure_boot: false,
  console: false,
  indicators: { 'led@system': 'off' },
};

export const fakeMachineOf = ({ fake }: Pick<NodeDocument, 'fake'>): FakeMachine => fake ?? fresh;

/** The states of a light, in Ironic's words. */
export const fakeLightStates = ['on', 'off', 'blinking'] as const;
