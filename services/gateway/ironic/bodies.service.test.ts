/** Bodies of requests to Ironic's API, as clients send them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

const v1 = '/baremetal/v1';
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

/** The paths and texts of the mistakes in a refused request. */
const mistakesOf = async (method: string, path: string, body?: unknown): Promise<string[]> => {
  const { status, json } = await gateway.call(method, `${v1}${path}`, body);
  expect(status).toBe(400);
  const { mistakes } = JSON.parse(json['error_message'] ?? '{}') as { mistakes: { path: string; message: string }[] };
  return mistakes.map(({ path: at, message }) => `${at}: ${message}`);
};

it('has the fields of the driver that it names, and those of redfish without one', async () => {
  const [missing, unknown] = ['is required: expected string', 'unknown field'];
  const access = { ipmi_address: 'http://a' };
  const host = 'expected an IP address or the name of a host, without ipmi:// and without a port';
  expect(await mistakesOf('POST', '/nodes', { driver: 'ipmi', driver_info: access })).toEqual([
    `driver_info.ipmi_address: ${host}`,
  ]);
  const address = 'driver_info.redfish_address: expected an address that begins with http:// or https://';
  expect(await mistakesOf('POST', '/nodes', { driver_info: access })).toEqual([
    address,
    `driver_info.ipmi_address: ${unknown}`,
  ]);
  expect(await mistakesOf('POST', '/nodes', {})).toEqual(['driver_info: is required: expected object']);
  for (const driver of ['ilo', null, 5])
    expect(await mistakesOf('POST', '/nodes', { driver, driver_info: access })).toEqual([
      'driver: expected one of redfish, ipmi, fake-hardware',
    ]);
  expect((await mistakesOf('POST', '/nodes', { driver: 'fake-hardware', nam: 'a' }))[0]).toMatch(
    /^nam: unknown field; known are uuid, name, .*, driver, driver_info$/,
  );
  expect(await mistakesOf('POST', '/volume/connectors', { node_uuid: crypto.randomUUID() })).toEqual([
    `type: ${missing}`,
    `connector_id: ${missing}`,
  ]);
});

it('counts null in a new port as absent', async () => {
  const port = { node_uuid: crypto.randomUUID(), address: null, uuid: null, extra: null };
  expect(await mistakesOf('POST', '/ports', port)).toEqual(['address: is required: expected string']);
});

it('removes a RAID plan only when it is an empty object', async () => {
  for (const body of [undefined, 'null', []])
    expect(await mistakesOf('PUT', '/nodes/n/states/raid', body)).toEqual([': must be a JSON object']);
});

it('may be in the query for a console, and must then be true or false', async () => {
  const wrong = 'enabled: must be true or false, not "1"';
  expect(await mistakesOf('PUT', '/nodes/n/states/console?enabled=1')).toEqual([wrong]);
  expect(await mistakesOf('PUT', '/nodes/n/states/console?enabled=1', { enabled: true })).toEqual([wrong]);
  expect(await mistakesOf('PUT', '/nodes/n/states/console')).toEqual(['enabled: Invalid input']);
});

it('of a verb has one kind of steps', async () => {
  const steps = [{ interface: 'power', step: 'reboot' }];
  const body = { target: 'clean', clean_steps: steps, service_steps: steps };
  expect(await mistakesOf('PUT', '/nodes/n/states/provision', body)).toEqual([
    ': Give only one of clean_steps, deploy_steps and service_steps.',
  ]);
});

it('of a rule names what to do instead of an action that Anneal does not have', async () => {
  const actions = [
    { op: 'log', args: { msg: 'm' } },
    { op: 'api-call', args: {} },
  ];
  const [mistake] = await mistakesOf('POST', '/inspection_rules', { actions });
  expect(mistake).toMatch(/^actions\.1\.op: Anneal has no action api-call\. Subscribe to the event/);
});
