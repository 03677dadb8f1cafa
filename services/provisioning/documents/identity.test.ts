import { describe, expect, it } from 'vitest';
import { claimsOf, contradiction, identityIn, merged, realSerial, realUuid, type Identity } from './identity.ts';

const none = new Set<string>();
const uuid = '8b0c3f0e-52d5-4a51-9f1b-0c4f6a1de001';
const machine = (change: Partial<Identity> = {}): Identity => ({
  uuid,
  serial: 'X7TR2',
  manufacturer: 'Maker',
  model: 'M1',
  path: '/redfish/v1/Systems/1',
  ...change,
});
const claims = (identity: Identity | null, at: { id?: string; address?: string; system_id?: string | null } = {}) =>
  claimsOf({ id: 'n1', address: 'https://10.0.0.7', system_id: null, ...at, identity });

describe('the identity of a machine', () => {
  it.each([
    '00000000-0000-0000-0000-000000000000',
    'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
    'abababab-abab-abab-abab-abababababab',
    '03000200-0400-0500-0006-000700080009',
    '12345678-1234-5678-90AB-CDDEEFAABBCC',
    'Not Settable',
    '',
    'not-a-uuid',
    7,
    null,
    { a: 1 },
  ])('I3: the UUID %j identifies nothing', (value) => {
    expect(realUuid(value, none)).toBeNull();
  });

  it.each(['To Be Filled By O.E.M.', 'Default string', '0123456789', '123456789', '0000000', 'N/A', 'None', ' ', 12])(
    'I3: the serial number %j identifies nothing',
    (value) => {
      expect(realSerial(value, none)).toBeNull();
    },
  );

  it('I3: the placeholders in the settings identify nothing', () => {
    expect(realUuid(uuid.toUpperCase(), none)).toBe(uuid);
    expect(realUuid(uuid.toUpperCase(), new Set([uuid]))).toBeNull();
    expect(realSerial('RACK', new Set(['rack']))).toBeNull();
  });

  it('I1: gives two nodes of one machine an equal claim', () => {
    const one = claims(machine());
    expect(claims(machine({ path: '/redfish/v1/Systems/9' }), { id: 'n2', address: 'http://10.0.0.8' }).machine).toBe(
      one.machine,
    );
    const same = { id: 'n2', address: 'https://10.0.0.7:443/', system_id: '/redfish/v1/Systems/1/' };
    expect(claims(null, same).place).toBe(one.place);
    expect(claims(null).given).toBe(claims(null, { id: 'n2', address: 'HTTPS://10.0.0.7/redfish' }).given);
    expect(claims(machine({ uuid: null })).serial).toBe(one.serial);
  });

  it('I1: gives different machines different claims, also when firmware leaves the fields empty', () => {
    const empty = { UUID: '00000000-0000-0000-0000-000000000000', SerialNumber: 'Default string' };
    const [a, b] = ['n1', 'n2'].map((id, at) =>
      claims(identityIn(empty, `/redfish/v1/Systems/${at}`), { id, system_id: `/redfish/v1/Systems/${at}` }),
    );
    expect(Object.values(a ?? {}).filter((value) => value !== null && Object.values(b ?? {}).includes(value))).toEqual(
      [],
    );
    const blades = ['1', '2'].map((blade) =>
      claims(machine({ uuid: uuid.replace(/1$/, blade) }), { address: `https://10.0.0.${blade}` }),
    );
    expect(new Set(blades.map((blade) => blade.machine)).size).toBe(2);
    expect(claims(null).place).not.toBe(claims(null, { id: 'n2' }).place);
  });

  it('I2: differs with another UUID or serial number; a missing one does not differ, and the known one is kept', () => {
    const known = machine();
    expect(contradiction(known, machine({ uuid: uuid.replace('8b', '9c') }))).toContain('system UUID 9c');
    expect(contradiction(known, machine({ serial: 'OTHER' }))).toContain('serial number OTHER instead of X7TR2');
    expect(contradiction(known, machine({ uuid: null, serial: null, path: '/elsewhere' }))).toBeUndefined();
    expect(merged(known, machine({ uuid: null }))).toEqual(known);
  });
});
