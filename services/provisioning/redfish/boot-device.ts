/** The boot device of a machine, in Ironic's names. Pure. */
import type { BootDeviceView } from '@anneal/contracts/calls/node-hardware.ts';
import { bootDevices } from '@anneal/contracts/node-choices.ts';
import { allowsValue, type Override } from './boot-override.ts';

type Body = Readonly<Record<string, unknown>>;
type Device = BootDeviceView['supported'][number];

const targets = {
  disk: 'Hdd',
  pxe: 'Pxe',
  cdrom: 'Cd',
  bios: 'BiosSetup',
  uefihttp: 'UefiHttp',
} as const satisfies Record<Device, string>;

/** The device of the boot override. */
export function bootDeviceIn(boot: Body): BootDeviceView {
  const supported = bootDevices.filter((device) => allowsValue(boot, 'BootSourceOverrideTarget', targets[device]));
  const { BootSourceOverrideEnabled: enabled, BootSourceOverrideTarget: target } = boot;
  // Some firmware shows its virtual drive as a USB drive.
  const device = target === 'UsbCd' ? 'cdrom' : bootDevices.find((each) => targets[each] === target);
  if (device === undefined || (enabled !== 'Once' && enabled !== 'Continuous'))
    return { device: null, persistent: null, supported };
  return { device, persistent: enabled === 'Continuous', supported };
}

/** Undefined for an override that the BMC does not offer. */
export function overrideToDevice(
  boot: Body,
  { device, persistent }: { device: Device; persistent: boolean },
): Override | undefined {
  const enabled = persistent ? 'Continuous' : 'Once';
  const target = targets[device];
  const isPossible =
    allowsValue(boot, 'BootSourceOverrideTarget', target) && allowsValue(boot, 'BootSourceOverrideEnabled', enabled);
  return isPossible ? { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } : undefined;
}
