import { describe, expect, it } from 'vitest';
import { overridesToDisk, overrideTo } from './boot-override.ts';

const boot = (options: { targets?: string[]; enabled?: string[]; now?: string }) => ({
  BootSourceOverrideEnabled: options.now ?? 'Once',
  ...(options.targets && { 'BootSourceOverrideTarget@Redfish.AllowableValues': options.targets }),
  ...(options.enabled && { 'BootSourceOverrideEnabled@Redfish.AllowableValues': options.enabled }),
});
const pairs = (body: object) =>
  overridesToDisk(body as Record<string, unknown>).map((override) => Object.values(override).join(' '));

describe('the return to booting from disk', () => {
  it('sends nothing when no override is set', () => {
    expect(pairs(boot({ now: 'Disabled' }))).toEqual([]);
    expect(pairs({})).toEqual([]);
  });

  it('requests only values that the BMC allows, and prefers no override', () => {
    expect(pairs(boot({}))[0]).toBe('None Disabled');
    expect(pairs(boot({ targets: ['Pxe', 'Cd', 'Hdd'] }))).toEqual(['Hdd Continuous', 'Hdd Once', 'Hdd Disabled']);
    expect(pairs(boot({ targets: ['Pxe', 'Cd', 'Hdd'], enabled: ['Once'] }))).toEqual(['Hdd Once']);
    expect(pairs(boot({ targets: ['None', 'Hdd'], enabled: ['Continuous', 'Disabled'] }))).toEqual([
      'None Disabled',
      'Hdd Continuous',
      'Hdd Disabled',
    ]);
    expect(pairs(boot({ targets: ['Pxe', 'Cd'] }))).toEqual(['Disabled']);
  });
});

it('overrideTo requests a one-time boot when the firmware allows it', () => {
  expect(overrideTo(boot({}), 'Cd')).toMatchObject({ BootSourceOverrideEnabled: 'Once' });
  expect(overrideTo(boot({ enabled: ['Disabled', 'Continuous'] }), 'Cd')).toMatchObject({
    BootSourceOverrideEnabled: 'Continuous',
  });
});
