import { nicsIn, portAddressOf } from '@anneal/contracts/inventory.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import type { Draft } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NodeDocument } from '../documents/node.ts';
import { NodeRecords } from '../documents/records.ts';
import { Assets } from './assets.ts';
import { portsCondition, PortClaims } from './port-claims.ts';

const usb = 'be:3a:f2:b6:05:9f';
const nic = (name: string, mac_address: string): JsonObject => ({ name, mac_address });

let context: ServiceContext & { dispose(): Promise<void> };
let records: NodeRecords;
beforeEach(async () => {
  context = await createTestContext({ name: 'provisioning' });
  records = await NodeRecords.open(context);
});
afterEach(() => context.dispose());

async function enrol(id: string, ...interfaces: JsonObject[]): Promise<NodeDocument> {
  const claims = { given: id, place: id, machine: id, serial: null };
  const fields = {
    id,
    name: id,
    state: 'manageable',
    instance_id: null,
    instance_info: {},
    last_error: null,
    fault: null,
    power: null,
    reason: 'enrolled',
    claims,
  };
  return records.insert({ ...fields, properties: { interfaces } } as unknown as Draft<NodeDocument>);
}
/** Claims and writes what an inspection found. */
async function inspect(claims: PortClaims, node: NodeDocument, ...interfaces: JsonObject[]) {
  const { properties, warning } = await claims.claimed(node, { interfaces });
  await records.change(node.id, () => ({ properties }));
  return { ports: nicsIn(properties).flatMap((each) => portAddressOf(each) ?? []), properties, warning };
}

it('C1, C2: gives a shared address to the first node, and names that node at the second', async () => {
  const claims = await PortClaims.open(context, records);
  const [one, two] = [await enrol('one'), await enrol('two')];
  const first = await inspect(claims, one, nic('eth0', '52:54:00:00:00:01'), nic('usb', usb));
  expect(first).toMatchObject({ ports: ['52:54:00:00:00:01', usb], warning: undefined });
  const second = await inspect(claims, two, nic('eth0', '52:54:00:00:00:02'), nic('usb', usb.toUpperCase()));
  expect(second).toMatchObject({
    ports: ['52:54:00:00:00:02'],
    properties: {
      interfaces: [{}, { mac_address: usb.toUpperCase(), not_a_port: 'its address is a port of node one' }],
    },
    warning: { type: portsCondition, status: 'False', message: expect.stringContaining('port of node one') as string },
  });
  // A repeat decides the same.
  expect((await inspect(claims, one, nic('usb', usb))).ports).toEqual([usb]);
  expect((await inspect(claims, two, nic('usb', usb))).ports).toEqual([]);
});

it('C1: has one owner when two processes inspect at once', async () => {
  const replicas = [await PortClaims.open(context, records), await PortClaims.open(context, records)];
  const nodes = await Promise.all(['one', 'two', 'three', 'four'].map((id) => enrol(id)));
  const found = await Promise.all(
    nodes.map((node, at) => inspect(replicas[at % 2] as PortClaims, node, nic('usb', usb))),
  );
  expect(found.flatMap(({ ports }) => ports)).toEqual([usb]);
});

it('C1: frees an address when its node is removed or no longer shows it', async () => {
  const claims = await PortClaims.open(context, records);
  const [one, two] = [await enrol('one'), await enrol('two')];
  await inspect(claims, one, nic('a', usb), nic('b', '52:54:00:00:00:0b'));
  await inspect(claims, one, nic('a', usb));
  expect((await inspect(claims, two, nic('b', '52:54:00:00:00:0b'))).ports).toEqual(['52:54:00:00:00:0b']);
  await records.remove((await records.get('one')) as NodeDocument);
  await claims.forget('one');
  expect((await inspect(claims, two, nic('a', usb))).ports).toEqual([usb]);
});

it('makes one port of two interfaces of a node with one address', async () => {
  const claims = await PortClaims.open(context, records);
  const found = await inspect(claims, await enrol('one'), nic('eth0', usb), nic('eth0.7', usb));
  expect(found).toMatchObject({
    ports: [usb],
    properties: { interfaces: [{}, { not_a_port: 'its address is a port already: that of interface eth0' }] },
  });
});

it('claims the ports of the nodes of older versions, and writes the condition', async () => {
  await enrol('one', nic('usb', usb));
  await enrol('two', nic('usb', usb));
  const claims = await PortClaims.open(context, records);
  expect((await claims.holder(usb))?.id).toBe('one');
  expect(await records.get('two')).toMatchObject({
    properties: { interfaces: [{ not_a_port: 'its address is a port of node one' }] },
    warnings: [{ type: portsCondition }],
  });
});

it('knows the ports that operators declare as assets, and refuses one of another node', async () => {
  const claims = await PortClaims.open(context, records);
  const assets = await Assets.open(context, records, claims);
  const [one, two] = [await enrol('one'), await enrol('two')];
  const port = (node_uuid: string, address: string) =>
    assets.create({ id: context.newId(), kind: 'port', fields: { node_uuid, address } });
  await inspect(claims, one, nic('usb', usb));
  const guid = crypto.randomUUID();
  const third = await enrol(guid);
  await expect(port(third.id, usb)).rejects.toThrow('node one has an interface with it');
  await port(third.id, '52-54-00-00-00-0C');
  const found = await inspect(claims, two, nic('eth0', '52:54:00:00:00:0c'));
  expect(found).toMatchObject({
    ports: [],
    warning: { message: expect.stringContaining(`port of node ${guid}`) as string },
  });
});
