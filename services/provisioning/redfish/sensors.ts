/**
 * The sensors of a machine: those of its chassis (`Sensors`), or of services from before 2020 those of `Thermal` and `Power`.
 */
import type { Sensor } from '@anneal/contracts/calls/node-hardware.ts';
import { linkIn } from './conversation/links.ts';
import { bodyIfShown, linkedBodies, numberValue, textValue, within, type DocumentReader } from './reading.ts';

type Body = Readonly<Record<string, unknown>>;

/** A chassis with more would keep its BMC busy for minutes. */
const mostSensors = 128;

export async function readSensors(client: DocumentReader, system: Body): Promise<Sensor[]> {
  const links = within(system, 'Links')['Chassis'];
  const found: Sensor[] = [];
  for (const chassis of await linkedBodies(client, Array.isArray(links) ? links : [])) {
    found.push(...((await sensorsOf(client, chassis)) ?? (await olderSensorsOf(client, chassis))));
  }
  return found.slice(0, mostSensors);
}

/** Undefined where the chassis has none of that form. */
async function sensorsOf(client: DocumentReader, chassis: Body): Promise<Sensor[] | undefined> {
  const path = linkIn(chassis, 'Sensors');
  const members = path === undefined ? undefined : (await bodyIfShown(client, path))?.['Members'];
  if (!Array.isArray(members) || members.length === 0) return undefined;
  return (await linkedBodies(client, members, mostSensors)).map((sensor) =>
    sensorIn(sensor, {
      kind: kinds[textValue(sensor['ReadingType']) ?? ''] ?? 'other',
      reading: sensor['Reading'],
      unit: unitOf(sensor['ReadingUnits']),
    }),
  );
}

async function olderSensorsOf(client: DocumentReader, chassis: Body): Promise<Sensor[]> {
  const [thermal = {}, power = {}] = await Promise.all(
    ['Thermal', 'Power'].map(async (name) => {
      const path = linkIn(chassis, name);
      return path === undefined ? undefined : bodyIfShown(client, path);
    }),
  );
  const list = (body: Body, name: string): Body[] => {
    const entries = body[name];
    return Array.isArray(entries) ? entries.filter((each) => typeof each === 'object' && each !== null) : [];
  };
  return [
    ...list(thermal, 'Temperatures').map((each) =>
      sensorIn(each, { kind: 'temperature', reading: each['ReadingCelsius'], unit: 'Cel' }),
    ),
    ...list(thermal, 'Fans').map((each) =>
      sensorIn(each, {
        kind: 'fan',
        reading: each['Reading'] ?? each['ReadingRPM'],
        unit: unitOf(each['ReadingUnits']),
      }),
    ),
    ...list(power, 'Voltages').map((each) =>
      sensorIn(each, { kind: 'voltage', reading: each['ReadingVolts'], unit: 'V' }),
    ),
    ...list(power, 'PowerControl').map((each) =>
      sensorIn(each, { kind: 'power', reading: each['PowerConsumedWatts'], unit: 'W' }),
    ),
    ...list(power, 'PowerSupplies').map((each) =>
      sensorIn(each, { kind: 'power', reading: each['LastPowerOutputWatts'], unit: 'W' }),
    ),
  ];
}

const kinds: Readonly<Record<string, Sensor['kind']>> = {
  Temperature: 'temperature',
  Rotational: 'fan',
  Voltage: 'voltage',
  Current: 'current',
  Power: 'power',
  EnergyJoules: 'energy',
  EnergykWh: 'energy',
  EnergyWh: 'energy',
  Humidity: 'humidity',
};
const states: Readonly<Record<string, Sensor['state']>> = { OK: 'ok', Warning: 'warning', Critical: 'critical' };
/** Units of UCUM and of older services, as people write them. */
const units: Readonly<Record<string, string>> = {
  Cel: '°C',
  '{rev}/min': 'RPM',
  RPM: 'RPM',
  Percent: '%',
  'kW.h': 'kWh',
  'W.h': 'Wh',
};
const unitOf = (value: unknown): string | null => {
  const unit = textValue(value);
  return unit === null ? null : (units[unit] ?? unit);
};

function sensorIn(body: Body, own: { kind: Sensor['kind']; reading: unknown; unit: string | null }): Sensor {
  const status = within(body, 'Status');
  return {
    name:
      textValue(body['Name']) ??
      textValue(body['FanName']) ??
      textValue(body['MemberId']) ??
      textValue(body['Id']) ??
      'unnamed',
    kind: own.kind,
    reading: numberValue(own.reading),
    unit: unitOf(own.unit),
    state: states[textValue(status['Health']) ?? ''] ?? 'unknown',
  };
}
