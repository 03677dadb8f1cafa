/** The words of an operator for a node. Apart from the calls, whose schemas take long to load. */

/** The verbs, after Ironic's. */
export const provisionVerbs = [
  'manage',
  'inspect',
  'provide',
  'clean',
  'adopt',
  'rebuild',
  'rescue',
  'unrescue',
  'service',
  'unhold',
  'abort',
  'deleted',
  'deploy',
] as const;
export type ProvisionVerb = (typeof provisionVerbs)[number];

/** Devices that a machine boots from, in Ironic's names. */
export const bootDevices = ['disk', 'pxe', 'cdrom', 'bios', 'uefihttp'] as const;
