import { expect, it } from 'vitest';
import { ironicAddress } from './address.ts';

it('reads the older forms of addresses, and leaves all others alone', () => {
  for (const [given, meant] of [
    ['/baremetal/nodes/detail?instance_uuid=i', '/baremetal/v1/nodes/detail?instance_uuid=i'],
    ['/baremetal/drivers', '/baremetal/v1/drivers'],
    ['/baremetal/v1/nodes/states/console/n1?x=1', '/baremetal/v1/nodes/n1/states/console?x=1'],
    ['/baremetal/v1/nodes/states', '/baremetal/v1/nodes/states'],
    ['/baremetal/', '/baremetal/'],
    ['/baremetal/nodesets', '/baremetal/nodesets'],
    ['/nodes/detail', '/nodes/detail'],
  ] as const)
    expect(ironicAddress(given), given).toBe(meant);
});
