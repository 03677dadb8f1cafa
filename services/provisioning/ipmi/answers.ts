/** Reads the answers of a BMC to IPMI commands, as `ipmitool raw` and `ipmitool fru` print them. Pure. */
import type { Sensor } from '@anneal/contracts/calls/node-hardware.ts';
import type { Power } from '../documents/node.ts';

/** The bytes that `ipmitool raw` prints. Undefined for another text. */
export function bytesIn(text: string): readonly number[] | undefined {
  const words = text.split(/\s+/).filter((word) => word !== '');
  return words.every((word) => /^[0-9a-f]{2}$/i.test(word))
    ? words.map((word) => Number.parseInt(word, 16))
    : undefined;
}

/** Get Chassis Status. */
export const powerInStatus = ([status]: readonly number[]): Power | null =>
  status === undefined ? null : (status & 1) === 1 ? 'power on' : 'power off';

/** The boot flags (parameter 5 of the boot options): the device as a number of the standard, and whether it stays. */
export function bootFlagsIn(answer: readonly number[]): { device: number; persistent: boolean } | undefined {
  const [, , how, flags] = answer;
  if (how === undefined || flags === undefined) return undefined;
  return { device: (flags >> 2) & 0x0f, persistent: (how & 0x40) !== 0 };
}

const units: Readonly<Record<string, readonly [Sensor['kind'], string]>> = {
  'degrees C': ['temperature', '°C'],
  RPM: ['fan', 'RPM'],
  Volts: ['voltage', 'V'],
  Amps: ['current', 'A'],
  Watts: ['power', 'W'],
};
const states: Readonly<Record<string, Sensor['state']>> = {
  ok: 'ok',
  lnc: 'warning',
  unc: 'warning',
  lcr: 'critical',
  ucr: 'critical',
  lnr: 'critical',
  unr: 'critical',
};

/** The sensors that measure, in `ipmitool -c sdr list full`: name, reading, unit, state. */
export function sensorsIn(text: string): Sensor[] {
  return text.split('\n').flatMap((line): Sensor[] => {
    const [name = '', value = '', unit = '', state = ''] = line.split(',').map((part) => part.trim());
    if (name === '' || !/^(?:-?\d+(?:\.\d+)?)?$/.test(value)) return [];
    const [kind, short] = units[unit] ?? (unit === 'percent' ? ['other', '%'] : ['other', unit]);
    return [
      {
        name,
        kind,
        reading: value === '' ? null : Number(value),
        unit: short === '' ? null : short,
        state: states[state] ?? 'unknown',
      },
    ];
  });
}

/** Get Device ID. The minor part is binary-coded decimal. */
export function firmwareIn(answer: readonly number[]): string | null {
  const [, , major, minor] = answer;
  return major === undefined || minor === undefined ? null : `${major & 0x7f}.${minor.toString(16).padStart(2, '0')}`;
}

/** Get SOL Configuration Parameters, parameter 1. */
export const solIsOn = (answer: readonly number[]): boolean => ((answer[1] ?? 0) & 1) === 1;

/**
 * The system UUID in Get System GUID. Most firmware sends it in the order of SMBIOS, some in the reverse order that the
 * standard of IPMI asks for; the version and variant of a UUID show which one.
 */
export function uuidIn(guid: readonly number[]): string | null {
  if (guid.length !== 16) return null;
  const hex = guid.map((byte) => byte.toString(16).padStart(2, '0'));
  const smbios = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map((at) => hex[at]).join('');
  const orders = [smbios, hex.toReversed().join('')].map((text) =>
    text.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  );
  return orders.find((uuid) => /^.{14}[1-5].{4}[89ab]/.test(uuid)) ?? orders[0] ?? null;
}

/** The maker, model and serial number of the first field-replaceable unit, in the names of Redfish. */
export function unitIn(text: string): Readonly<Record<string, string>> {
  const fields = new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const [, name = '', value = ''] = /^\s*([^:]+?)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
      return value === '' ? [] : [[name, value]];
    }),
  );
  const first = (...names: string[]): string => names.map((name) => fields.get(name)).find(Boolean) ?? '';
  return {
    Manufacturer: first('Product Manufacturer', 'Board Mfg'),
    Model: first('Product Name', 'Board Product'),
    SerialNumber: first('Product Serial', 'Chassis Serial', 'Board Serial'),
  };
}
