import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

interface Operation {
  requestBody?: { content: Record<string, { schema: unknown }> };
}

describe('the own API', () => {
  it('refuses an unknown query parameter and an unknown field of a body at every address', async () => {
    const { json } = await gateway.call('GET', '/api/v1/openapi.json');
    const paths = json['paths'] as unknown as Record<string, Record<string, Operation>>;
    const found: string[] = [];
    for (const [path, operations] of Object.entries(paths)) {
      const address = `/api/v1${path.replaceAll(/\{\w+\}/g, 'x')}`;
      for (const [method, { requestBody }] of Object.entries(operations)) {
        const verb = method.toUpperCase();
        const query = await gateway.call(verb, `${address}?bogus=1`, verb === 'POST' ? { kind: 'skip' } : undefined);
        // A listener confirms its subscription with any body, and an upload has bytes.
        const isUpload = requestBody?.content['application/octet-stream'] !== undefined;
        const isOpen = verb === 'GET' || path.endsWith('/confirm') || isUpload;
        const body = isOpen ? query : await gateway.call(verb, address, { kind: kindFor(requestBody), bogus: 1 });
        for (const { status, text } of [query, body]) {
          if (status !== 400 || !text.includes('"path":"bogus"')) found.push(`${verb} ${address}: ${status} ${text}`);
        }
      }
    }
    expect(found).toEqual([]);
  });

  /** A kind that the body's schema has, so that only the unknown field is wrong. */
  const kindFor = (body: Operation['requestBody']): string => {
    const kinds = [...JSON.stringify(body ?? {}).matchAll(/"kind":\{"type":"string","const":"(\w+)"/g)].map(
      ([, kind]) => kind,
    );
    return kinds.includes('check') ? 'check' : (kinds[0] ?? 'skip');
  };

  it('names every unknown field, also of a list, and changes nothing', async () => {
    const messages = [{ body: 1 }, { body: 2, delay: 30, priority: 1 }];
    const refused = await gateway.call('POST', '/api/v1/queues/unchanged/messages', { messages, notify: true });
    expect([refused.status, refused.json['error']?.['mistakes']]).toMatchObject([
      400,
      [{ path: 'messages.1.delay' }, { path: 'messages.1.priority' }, { path: 'notify' }],
    ]);
    expect((await gateway.call('GET', '/api/v1/queues/unchanged')).status).toBe(404);
  });
});

describe('Ironic', () => {
  const node = '3381af92-2b9e-11e3-b191-71861300734c';
  const driverInfo = { redfish_address: 'http://127.0.0.1:1', redfish_username: 'u', redfish_password: 'p' };
  const enrol = (more: object): [string, string, object] => [
    'POST',
    '/baremetal/v1/nodes',
    { name: 'unknown-fields', driver: 'redfish', driver_info: driverInfo, ...more },
  ];

  it.each<[string, [string, string, object], string[]]>([
    ['a node', enrol({ raid_config: {}, boot_interfaces: 'ipxe' }), ['raid_config', 'boot_interfaces']],
    ['access data', enrol({ driver_info: { ...driverInfo, ipmi_address: '::1' } }), ['driver_info.ipmi_address']],
    ['a power request', ['PUT', '/baremetal/v1/nodes/n/states/power', { target: 'power on', wait: 5 }], ['wait']],
    [
      'a provision request',
      ['PUT', '/baremetal/v1/nodes/n/states/provision', { target: 'clean', disable_ramdisk: true, configdrive: 'r' }],
      ['disable_ramdisk', 'configdrive'],
    ],
    ['maintenance', ['PUT', '/baremetal/v1/nodes/n/maintenance', { reason: 'r', until: 'noon' }], ['until']],
    ['a port', ['POST', '/baremetal/v1/ports', { node_uuid: node, address: '52:54:00:00:00:01', mac: 1 }], ['mac']],
    ['traits', ['PUT', '/baremetal/v1/nodes/n/traits', { traits: [], more: [] }], ['more']],
    [
      'a patch',
      ['PATCH', '/baremetal/v1/nodes/n', [{ op: 'add', path: '/extra/a', value: 1, from: '/extra/b' }]],
      ['0.from'],
    ],
  ])('refuses %s with unknown fields, and names each', async (_what, [method, path, body], unknown) => {
    const refused = await gateway.call(method, path, body);
    expect(refused.status).toBe(400);
    const fault = JSON.parse(refused.json['error_message'] ?? '{}') as { mistakes: { path: string }[] };
    expect(fault.mistakes.map(({ path: at }) => at)).toEqual(unknown);
    expect((await gateway.call('GET', '/baremetal/v1/nodes')).json['nodes']).toEqual([]);
  });

  it('refuses a filter of the node list that it does not know', async () => {
    const refused = await gateway.call('GET', '/baremetal/v1/nodes?chassis=c&sort=name&limit=5');
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/chassis: unknown field; known are limit, marker, .*; sort: unknown field/);
  });
});
