import { describe, expect, it } from 'vitest';
import { settingsAfter } from './hardware-settings.ts';

describe('the firmware of a node', () => {
  const first = settingsAfter(undefined, { bios: { A: 'on' }, firmware: { bios: '1.0', bmc: '2.0' } }, 't1');

  it('begins with the versions of the first reading', () => {
    expect(first).toEqual({
      bios: { A: 'on' },
      firmware: [
        {
          component: 'bios',
          initial_version: '1.0',
          current_version: '1.0',
          last_version_flashed: null,
          created_at: 't1',
          updated_at: null,
        },
        expect.objectContaining({ component: 'bmc', initial_version: '2.0' }),
      ],
      created_at: 't1',
      read_at: 't1',
    });
  });

  it('keeps its first version, and the time of the last change', () => {
    const second = settingsAfter(first, { bios: {}, firmware: { bios: '1.1', bmc: '2.0' } }, 't2');
    const third = settingsAfter(second, { bios: {}, firmware: { bios: '1.1', bmc: '2.0' } }, 't3');
    expect(third.firmware[0]).toMatchObject({
      initial_version: '1.0',
      current_version: '1.1',
      last_version_flashed: '1.1',
      updated_at: 't2',
    });
    expect(third.firmware[1]).toMatchObject({ current_version: '2.0', updated_at: null });
    expect(third).toMatchObject({ bios: {}, created_at: 't1', read_at: 't3' });
  });

  it('keeps the details of the settings that are shown, and of no other one', () => {
    const known = { attribute_type: 'String' } as never;
    const shown = { bios: { A: 'on' }, biosDetails: { A: known, B: known }, firmware: {} };
    expect(settingsAfter(undefined, shown, 't1').bios_details).toEqual({ A: known });
  });

  it('keeps as many BIOS settings as fit', () => {
    const bios = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`Setting${at}`, 'x'.repeat(100)]));
    const kept = Object.keys(settingsAfter(undefined, { bios, firmware: {} }, 't1').bios).length;
    expect(kept).toBeGreaterThan(1000);
    expect(kept).toBeLessThan(5000);
  });
});
