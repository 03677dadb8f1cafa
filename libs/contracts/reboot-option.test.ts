import { expect, it } from 'vitest';
import { rebootLimitMs, rebootOf, rebootProblem } from './reboot-option.ts';

it('reads a choice, and none from any other value', () => {
  expect(rebootOf({ reboot: 'on status 194' })).toBe('on status 194');
  for (const options of [{}, { reboot: null }, { reboot: 'On Status 194' }, { reboot: 194 }]) {
    expect(rebootOf(options)).toBeUndefined();
  }
  expect(rebootProblem(undefined)).toBeUndefined();
  expect(rebootProblem('After')).toBe('must be one of "after", "allowed", "on status 194"');
});

it('limits a boot to 30 minutes, or to the seconds that the config gives as a number or as text', () => {
  expect(rebootLimitMs({})).toBe(1_800_000);
  for (const given of [90, '90']) expect(rebootLimitMs({ reboot_timeout: given })).toBe(90_000);
  for (const given of [0, -1, '', 'soon', 1e9, null, []])
    expect(rebootLimitMs({ reboot_timeout: given })).toBe(1_800_000);
});
