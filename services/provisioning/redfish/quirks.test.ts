import { describe, expect, it } from 'vitest';
import { allowedTarget, withMode } from './boot-override.ts';
import { quirksOf, vendorQuirks } from './quirks.ts';

describe('the quirks of vendors', () => {
  it('follow from the manufacturer of the system, and others follow the standard', () => {
    expect(quirksOf({ Manufacturer: 'Supermicro' })).toMatchObject({ cd: ['UsbCd', 'Cd'], wholeBoot: true });
    expect(quirksOf({ Manufacturer: 'American Megatrends International LLC.' }).wholeBoot).toBe(true);
    for (const Manufacturer of ['HPE', 'Dell Inc.', 'Lenovo', 'Amiga', '', null, 7])
      expect(quirksOf({ Manufacturer })).toEqual({ cd: ['Cd', 'UsbCd'], wholeBoot: false });
  });

  it('belong to one vendor each', () => {
    const names = ['Supermicro', 'ASRockRack', 'Redfish_Compatible'];
    for (const name of names) expect(vendorQuirks.filter(({ is }) => is.test(name))).toHaveLength(1);
  });

  it('boot the virtual drive by the target that the BMC offers, and state the mode with it', () => {
    const boot = {
      'BootSourceOverrideTarget@Redfish.AllowableValues': ['None', 'Cd', 'UsbCd'],
      BootSourceOverrideMode: 'UEFI',
    };
    expect(allowedTarget(boot, ['UsbCd', 'Cd'])).toBe('UsbCd');
    const older = { ...boot, 'BootSourceOverrideTarget@Redfish.AllowableValues': ['Cd'] };
    expect(allowedTarget(older, ['UsbCd', 'Cd'])).toBe('Cd');
    const override = { BootSourceOverrideTarget: 'UsbCd' };
    expect(withMode(boot, override)).toEqual({ ...override, BootSourceOverrideMode: 'UEFI' });
    expect(withMode({}, override)).toEqual(override);
  });
});
