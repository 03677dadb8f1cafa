import { describe, expect, it } from 'vitest';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { deriveInputs, digestOf, readConfig, replacedBy, selectForAction } from './derive.ts';

const secrets = createSecrets([new Uint8Array(32)]);
const component = readConfig(secrets, 'OS::Heat::SoftwareComponent', {
  configs: [
    { actions: ['CREATE', 'UPDATE'], config: 'up', tool: 'script' },
    { actions: ['DELETE'], config: 'down', tool: 'ansible' },
  ],
});
const script = readConfig(secrets, 'OS::Heat::OrderedConfig', { script: 'x', options: null });

describe('the config of an action', () => {
  it.each([
    [component, 'CREATE', { group: 'script', config: 'up' }],
    [component, 'DELETE', { group: 'ansible', config: 'down' }],
    [component, 'SUSPEND', undefined],
    [script, 'CREATE', { group: 'script', config: 'x' }],
    [script, 'DELETE', undefined],
  ] as const)('is the entry of a component, or the config itself (%#)', (config, action, expected) => {
    expect(selectForAction(config, action, ['CREATE', 'UPDATE'])).toEqual(expected);
  });
});

describe('derived inputs', () => {
  const config = readConfig(secrets, 'OS::Heat::SoftwareConfig', {
    group: 'script',
    inputs: [{ name: 'a', default: 1, type: 'Number' }, { name: 'b' }],
  });
  it('are the declared ones with value or default, then the undeclared ones, then those that describe where it runs', () => {
    const inputs = deriveInputs({
      config,
      values: { b: 'two', c: { d: 1 } },
      isText: (value) => typeof value === 'string',
      context: {
        host_id: 'h',
        action: 'CREATE',
        stack: { id: 'i', name: 's' },
        resource_name: 'r',
        transport: 'HEAT_SIGNAL',
      },
    });
    expect(inputs.map(({ name, value }) => [name, value])).toEqual([
      ['a', 1],
      ['b', 'two'],
      ['c', { d: 1 }],
      ['deploy_server_id', 'h'],
      ['deploy_action', 'CREATE'],
      ['deploy_stack_id', 's/i'],
      ['deploy_resource_name', 'r'],
      ['deploy_signal_transport', 'HEAT_SIGNAL'],
    ]);
  });
});

describe('a digest', () => {
  it('ignores the order of keys, and depends on every value', () => {
    expect(digestOf(script, { a: { x: 1, y: 2 }, b: 1 })).toBe(digestOf(script, { b: 1, a: { y: 2, x: 1 } }));
    expect(digestOf(script, { a: 1 })).not.toBe(digestOf(script, { a: 2 }));
    expect(digestOf(script, {})).not.toBe(digestOf({ ...script, config: 'y' }, {}));
  });
  it('ignores what describes an input or an output', () => {
    const digest = (description?: string) => {
      const entry = { name: 'a', ...(description !== undefined && { description }) };
      const properties = { inputs: [entry], outputs: [entry] };
      const config = readConfig(secrets, 'OS::Heat::SoftwareConfig', properties);
      expect([config.inputs[0]?.description, config.outputs[0]?.description]).toEqual([description, description]);
      return digestOf(config, {});
    };
    expect(digest('what it is for')).toBe(digest());
  });
});

describe('replace_on_change', () => {
  const config = readConfig(secrets, 'OS::Heat::SoftwareConfig', {
    inputs: [
      { name: 'version', replace_on_change: true, default: '1' },
      { name: 'note', replace_on_change: false },
    ],
  });
  it('lists the marked inputs whose value differs, including defaults', () => {
    expect(replacedBy({ config, values: {} }, { config, values: { version: '1', note: 'x' } })).toEqual([]);
    expect(replacedBy({ config, values: {} }, { config, values: { version: '2' } })).toEqual(['version']);
  });
});
