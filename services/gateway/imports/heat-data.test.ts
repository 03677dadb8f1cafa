import type { JsonObject } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { outputsById, readHeatData, type ImportChoices } from './heat-data.ts';

const choices: ImportChoices = {
  hosts: {},
  outputs: new Map(),
  failed: false,
  actions: new Map([
    ['OS::Nova::Server', ['adopt', 'check']],
    ['OS::Heat::RandomString', ['adopt']],
    ['OS::Ironic::Port', ['check']],
    ['Own::Disk', ['check']],
  ]),
  parameters: {},
};
const one = (type: string, more: JsonObject = {}): JsonObject => ({
  type,
  resource_id: 'r1',
  action: 'CREATE',
  status: 'COMPLETE',
  metadata: { a: 1 },
  resource_data: { secret_key: 's' },
  ...more,
});
const stack = (resources: JsonObject, more: JsonObject = {}): JsonObject => ({
  template: { resources: Object.fromEntries(Object.keys(resources).map((name) => [name, {}])) },
  resources,
  ...more,
});
const refused = (data: JsonObject, more: Partial<ImportChoices> = {}): string[] =>
  readHeatData(data, { ...choices, ...more }).mistakes.map(({ path, message }) => `${path} ${message}`);

describe('the plan of an import', () => {
  it('I1: lists each resource, or names why it cannot be taken over', () => {
    const data = stack({
      fine: one('OS::Heat::RandomString'),
      port: one('OS::Ironic::Port'),
      own: one('Own::Disk'),
      going: one('OS::Heat::RandomString', { action: 'DELETE', status: 'FAILED' }),
      busy: one('OS::Heat::RandomString', { action: 'UPDATE', status: 'IN_PROGRESS' }),
      text: 'x',
      group: stack({ 0: one('OS::Heat::RandomString', { status: 'FAILED' }), 1: one('OS::Heat::RandomString') }),
    });
    expect(refused(data)).toEqual([
      expect.stringMatching(/^resources\.port has the type OS::Ironic::Port/),
      'resources.going is DELETE_FAILED; finish its deletion there, and export it again',
      'resources.busy is UPDATE_IN_PROGRESS; wait until its action has ended, and export it again',
      'resources.text must be an object',
      'resources.group/0 is CREATE_FAILED; repair it there, or include failed resources, which are taken over as they are',
    ]);
    const { rows, adopt } = readHeatData(data, { ...choices, failed: true });
    expect(rows.map(({ resource, note }) => [resource, note])).toEqual([
      ['fine', ''],
      ['own', ''],
      ['group', ''],
      ['group/0', 'it had failed'],
      ['group/1', ''],
    ]);
    expect(adopt['group']).toMatchObject({ resources: { 0: { failed: true }, 1: { resource_id: 'r1' } } });
  });

  it('I2: gives a server the chosen host by its path, its name or its old id', () => {
    const data = stack(
      { group: stack({ s: one('My::Server', { resource_id: 'nova-1' }) }) },
      {
        environment: { resource_registry: { 'My::Server': 'OS::Nova::Server', 'My::Template': 'a.yaml' } },
      },
    );
    for (const key of ['group/s', 'nova-1']) {
      const { servers, mistakes } = readHeatData(data, { ...choices, hosts: { [key]: 'h' } });
      expect([servers.map(({ host }) => host), mistakes]).toEqual([['h'], []]);
    }
    expect(refused(data, { hosts: { ghost: 'h' } })).toEqual([
      'hosts.ghost is no server of this stack, so it gets no host',
    ]);
  });

  it('I3: leaves the credentials of the old installation out', () => {
    const data = stack({
      server: one('OS::Nova::Server'),
      drawn: one('OS::Heat::RandomString', { resource_data: { value: 'v' } }),
      deployment: one('OS::Heat::SoftwareDeployment'),
    });
    const { adopt } = readHeatData(data, choices);
    expect(adopt).toEqual({
      server: { resource_id: 'r1' },
      drawn: { resource_id: 'r1', metadata: { a: 1 }, resource_data: { value: 'v' } },
      deployment: { resource_id: 'r1', metadata: { a: 1 } },
    });
  });

  it('warns of outputs that Heat does not export, and takes them from its deployments', () => {
    const data = {
      template: { resources: { run: {} }, outputs: { o: { value: { get_attr: ['run', 'said'] } } } },
      resources: { run: one('OS::Heat::SoftwareDeployment') },
    };
    expect(readHeatData(data, choices).warnings).toEqual([expect.stringContaining('The outputs of run')]);
    const outputs = outputsById([
      { id: 'r1', output_values: { said: 'hi' } },
      { id: 'r2', output_values: null },
    ]);
    const { warnings, adopt } = readHeatData(data, { ...choices, outputs });
    expect([warnings, adopt]).toEqual([[], { run: expect.objectContaining({ attributes: { said: 'hi' } }) }]);
  });

  it('refuses an encrypted parameter unless its value is given', () => {
    const data = stack({}, { environment: { parameters: { p: ['cryptography_decrypt_v1', 'gAAA'], q: [1] } } });
    expect(refused(data)).toEqual(['parameters.p is encrypted with a key of the old installation; give its value']);
    expect(refused(data, { parameters: { p: 'x' } })).toEqual([]);
  });
});
