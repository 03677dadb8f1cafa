/**
 * The driver `fake-hardware`: for tests of clients and of automation. Its BMC answers at once, from the document of the
 * node, and keeps there what it is asked to change. So the states, events and refusals of a node are the real ones.
 */
import { bootDevices } from '@anneal/contracts/node-choices.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { BmcDriver, BmcMachine, BmcTurn, Hardware } from '../bmc/port.ts';
import type { FakeMachine } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { fakeMachineOf } from './machine.ts';

export const createFakeDriver = (records: Pick<NodeRecords, 'get' | 'change'>): BmcDriver => ({
  machine: (turn) => fakeBmc(records, turn),
  followEvents: () => Promise.resolve(false),
  close: () => Promise.resolve(),
});

const identity = { uuid: null, serial: null, manufacturer: 'Anneal', model: 'fake-hardware', path: null } as const;

function fakeBmc(records: Pick<NodeRecords, 'get' | 'change'>, { node: { id, name } }: BmcTurn): BmcMachine {
  const read = async (): Promise<FakeMachine> => {
    const node = await records.get(id);
    if (node) return fakeMachineOf(node);
    throw new AnnealError('NotFound', `There is no node ${name}.`);
  };
  const write = async (fields: Partial<FakeMachine>): Promise<void> => {
    await records.change(id, (node) => ({ fake: { ...fakeMachineOf(node), ...fields } }));
  };
  const done = { kind: 'done' } as const;
  const hardware: Hardware = {
    setBootMode: (mode) => write({ boot_mode: mode === 'UEFI' ? 'uefi' : 'bios' }),
    async applySecureBoot({ enabled }) {
      await write({ secure_boot: enabled });
      return done;
    },
    applyBios: () => Promise.resolve(done),
    resetBios: () => Promise.resolve(done),
    createVolumes: () => Promise.resolve(done),
    deleteVolumes: () => Promise.resolve(done),
    applyFirmware: () => Promise.resolve(done),
  };
  return {
    path: undefined,
    hardware,
    verify: async () => ({ power: (await read()).power, identity }),
    inventory: () => Promise.resolve({ inventory: {}, identity }),
    power: async () => (await read()).power,
    bootProgress: async () => ({ power: (await read()).power, seen: '', inPost: false }),
    toggles: () => Promise.resolve(false),
    async reset(change) {
      await write({ power: change === 'power on' ? 'power on' : 'power off' });
      return { task: undefined };
    },
    awaitPower: async (wanted) => (await read()).power === wanted,
    async bootFrom() {
      await write({ boot_device: 'pxe', persistent: false });
      return 'pxe';
    },
    bootFromDisk: () => write({ boot_device: 'disk', persistent: true }),
    async bootDevice() {
      const { boot_device: device, persistent } = await read();
      return { device, persistent, supported: [...bootDevices] };
    },
    setBootDevice: ({ device, persistent }) => write({ boot_device: device, persistent }),
    interrupt: () => {
      const why = `Node ${name} of the driver fake-hardware has no machine that could get an NMI.`;
      return Promise.reject(new AnnealError('NotSupported', why));
    },
    sensors: () => Promise.resolve([]),
    settings: () => Promise.resolve({ bios: {}, firmware: {} }),
    consoleLog: () => Promise.resolve({ lines: [], total: 0 }),
    stopInSetup: () => write({ boot_device: 'bios', persistent: false }),
  };
}
