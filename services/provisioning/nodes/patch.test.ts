import { AnnealError } from '@anneal/contracts/errors.ts';
import type { NodePatch } from '@anneal/contracts/provisioning.ts';
import { describe, expect, it } from 'vitest';
import { fieldsAfter, hiddenPassword, type Fields } from './patch.ts';

const fields: Fields = {
  name: 'n1',
  resource_class: 'gold',
  maintenance: false,
  maintenance_reason: null,
  driver_info: { redfish_address: 'https://10.0.0.7', redfish_username: 'root', redfish_password: hiddenPassword },
};
const after = (...patch: NodePatch): Fields => fieldsAfter(fields, patch);
const mistakes = (...patch: NodePatch): string[] => {
  try {
    after(...patch);
    return [];
  } catch (error) {
    return error instanceof AnnealError ? (error.mistakes ?? []).map(({ path }) => path) : [String(error)];
  }
};

describe('patch of a node', () => {
  it('adds, replaces, tests and removes fields', () => {
    const changed = after(
      { op: 'test', path: '/name', value: 'n1' },
      { op: 'replace', path: '/name', value: 'n2' },
      { op: 'add', path: '/driver_info/redfish_verify_ca', value: false },
      { op: 'remove', path: '/driver_info/redfish_username' },
      { op: 'remove', path: '/resource_class' },
    );
    expect(changed).toMatchObject({ name: 'n2', resource_class: 'baremetal' });
    expect(changed.driver_info).toEqual({
      redfish_address: 'https://10.0.0.7',
      redfish_password: hiddenPassword,
      redfish_verify_ca: false,
    });
  });

  it('names every operation that cannot be done', () => {
    expect(
      mistakes(
        { op: 'add', path: '/provision_state', value: 'active' },
        { op: 'remove', path: '/driver_info/redfish_verify_ca' },
        { op: 'replace', path: '/name' },
        { op: 'test', path: '/name', value: 'other' },
        { op: 'add', path: '/__proto__/x', value: 1 },
        { op: 'add', path: 'name', value: 'x' },
      ),
    ).toEqual(['[0].path', '[1].path', '[2].path', '[3].path', '[4].path', '[5].path']);
  });

  it('names every value that cannot be', () => {
    expect(
      mistakes(
        { op: 'add', path: '/driver_info/redfish_address', value: 'ftp://10.0.0.7' },
        { op: 'add', path: '/driver_info/ipmi_address', value: 'x' },
        { op: 'add', path: '/maintenance', value: 'yes' },
      ),
    ).toEqual(['maintenance', 'driver_info.redfish_address', 'driver_info']);
    expect(mistakes({ op: 'remove', path: '/driver_info' })).toEqual(['driver_info']);
  });
});
