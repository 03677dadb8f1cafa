/** The sensors of a machine. Machines without HTTP boot have older firmware, which has Thermal and Power instead of Sensors. */
import type { LabMachine } from '../machine.ts';
import { machineAt, bmcPath, root, type ById, type BmcEndpoint } from './endpoint.ts';
import { notFound } from './errors.ts';
import { chassisPath, collection, redfishResource } from './representation.ts';

interface Reading {
  readonly name: string;
  readonly type: 'Temperature' | 'Rotational' | 'Power';
  readonly units: 'Cel' | '{rev}/min' | 'W';
  readonly value: number;
  readonly most: number;
}

type Readings = Readonly<Record<'CPU1Temp' | 'Fan1' | 'Power', Reading>>;

/** A machine that is off is cool and still. */
function trueReadings({ power, state: { cpus } }: LabMachine): Readings {
  const on = power === 'On';
  return {
    CPU1Temp: { name: 'CPU 1 temperature', type: 'Temperature', units: 'Cel', value: on ? 48 : 21, most: 90 },
    Fan1: { name: 'Fan 1', type: 'Rotational', units: '{rev}/min', value: on ? 5400 : 0, most: 20_000 },
    Power: { name: 'Power', type: 'Power', units: 'W', value: on ? 60 + 10 * cpus : 5, most: 1200 },
  };
}
function readingsOf({ faults }: BmcEndpoint, machine: LabMachine): Readings {
  const { CPU1Temp: heat, Fan1: fan, Power: power } = trueReadings(machine);
  const shown = faults.get(machine.state.name)?.sensors ?? {};
  return {
    CPU1Temp: { ...heat, value: shown['CPU1Temp'] ?? heat.value },
    Fan1: { ...fan, value: shown['Fan1'] ?? fan.value },
    Power: { ...power, value: shown['Power'] ?? power.value },
  };
}
const healthOf = ({ value, most }: Reading): object => ({
  State: 'Enabled',
  Health: value < most ? 'OK' : 'Critical',
});

export function sensorRoutes(endpoint: BmcEndpoint): void {
  const { app } = endpoint;
  const at = `${root}/Chassis/:id`;
  const pathOf = ({ state }: LabMachine): string => chassisPath(state.name);
  const requireForm = (request: Parameters<typeof bmcPath>[0], isThere: boolean): void => {
    if (!isThere) throw notFound(bmcPath(request));
  };
  app.get<ById>(`${at}/Sensors`, (request) => {
    const machine = machineAt(endpoint, request);
    requireForm(request, machine.state.httpBoot);
    const path = `${pathOf(machine)}/Sensors`;
    const members = Object.keys(trueReadings(machine)).map((id) => `${path}/${id}`);
    return collection({ path, type: 'SensorCollection', name: 'Sensors', members });
  });
  app.get<{ Params: { id: string; sensor: string } }>(`${at}/Sensors/:sensor`, (request) => {
    const machine = machineAt(endpoint, request);
    const { sensor: id } = request.params;
    const reading = Object.entries(readingsOf(endpoint, machine)).find(([name]) => name === id)?.[1];
    if (!reading || !machine.state.httpBoot) throw notFound(bmcPath(request));
    return redfishResource(`${pathOf(machine)}/Sensors/${id}`, 'v1_9_0.Sensor', {
      Id: id,
      Name: reading.name,
      ReadingType: reading.type,
      ReadingUnits: reading.units,
      Reading: reading.value,
      Status: healthOf(reading),
    });
  });
  app.get<ById>(`${at}/Thermal`, (request) => {
    const machine = machineAt(endpoint, request);
    requireForm(request, !machine.state.httpBoot);
    return thermalOf(machine, readingsOf(endpoint, machine));
  });
  app.get<ById>(`${at}/Power`, (request) => {
    const machine = machineAt(endpoint, request);
    requireForm(request, !machine.state.httpBoot);
    return powerOf(machine, readingsOf(endpoint, machine));
  });
}

/** The entry of a list of older firmware. */
const entry = (path: string, reading: Reading, own: object): object => ({
  '@odata.id': path,
  MemberId: '0',
  Name: reading.name,
  ...own,
  Status: healthOf(reading),
});

function thermalOf(machine: LabMachine, { CPU1Temp: heat, Fan1: fan }: Readings): object {
  const path = `${chassisPath(machine.state.name)}/Thermal`;
  const celsius = { ReadingCelsius: heat.value, UpperThresholdCritical: heat.most };
  return redfishResource(path, 'v1_7_1.Thermal', {
    Id: 'Thermal',
    Name: 'Temperatures and fans',
    Temperatures: [entry(`${path}#/Temperatures/0`, heat, celsius)],
    'Temperatures@odata.count': 1,
    Fans: [entry(`${path}#/Fans/0`, fan, { Reading: fan.value, ReadingUnits: 'RPM' })],
    'Fans@odata.count': 1,
  });
}

function powerOf(machine: LabMachine, { Power: power }: Readings): object {
  const path = `${chassisPath(machine.state.name)}/Power`;
  const supply = {
    LastPowerOutputWatts: power.value,
    LineInputVoltage: 230,
    PowerCapacityWatts: power.most,
    SerialNumber: `${machine.state.serial}-PSU1`,
  };
  return redfishResource(path, 'v1_7_2.Power', {
    Id: 'Power',
    Name: 'Power',
    PowerControl: [
      entry(`${path}#/PowerControl/0`, power, { PowerConsumedWatts: power.value, PowerCapacityWatts: power.most }),
    ],
    'PowerControl@odata.count': 1,
    PowerSupplies: [entry(`${path}#/PowerSupplies/0`, { ...power, name: 'Power supply 1' }, supply)],
    'PowerSupplies@odata.count': 1,
  });
}
