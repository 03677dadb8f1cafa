import { inspectionRuleViewSchema, type InspectionRule } from '@anneal/contracts/calls/inspection-rules.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { describe, expect, it } from 'vitest';
import type { NodeDocument } from '../documents/node.ts';
import { holds } from './conditions.ts';
import { afterRules, requireInspectionRule } from './evaluate.ts';
import { interpolated } from './interpolate.ts';

const context: JsonObject = {
  inventory: {
    cpu: { count: 64, architecture: 'x86_64' },
    system_vendor: { manufacturer: 'Dell Inc.', serial_number: null },
    interfaces: [{ mac_address: '52:54:00:00:00:01' }],
  },
  node: { name: 'rack1-07', properties: {} },
};

describe('a replacement field', () => {
  it('becomes the value itself when it is the whole text, and text within another', () => {
    expect(interpolated('{inventory[cpu][count]}', context)).toBe(64);
    expect(interpolated('{inventory.cpu.count} of {node[name]}', context)).toBe('64 of rack1-07');
    expect(interpolated('{inventory[interfaces][0][mac_address]}', context)).toBe('52:54:00:00:00:01');
    expect(interpolated('no {inventory[system_vendor][serial_number]}', context)).toBe('no None');
  });

  it('stays as it is where nothing exists, and doubled braces are braces', () => {
    for (const text of ['{inventory[gpu]}', 'a {inventory[gpu]} {node.name}', '{node.__class__}', '{nothing}'])
      expect(interpolated(text, context)).toBe(text);
    expect(interpolated({ 'a {{b}}': ['{{node.name}}'] }, context)).toEqual({ 'a {b}': ['{node.name}'] });
  });
});

describe('a condition', () => {
  const check = (op: string, args: JsonObject | JsonObject[string][], more: object = {}): boolean =>
    holds({ op, args, ...more }, context);

  it.each([
    ['eq', ['{inventory.cpu.architecture}', 'x86_64'], true],
    ['eq', [64, '{inventory.cpu.count}', 64], true],
    ['eq', [1, 2], false],
    ['lt', [1, '{inventory.cpu.count}', 100], true],
    ['gt', [1, 2], false],
  ])('%s of %j is %s', (op, values, result) => {
    expect(check(op, { values })).toBe(result);
    expect(check(`!${op}`, { values })).toBe(!result);
    expect(check(op, [values])).toBe(result);
  });

  it.each([
    ['is-empty', { value: '' }, true],
    ['is-empty', { value: [] }, true],
    ['is-empty', { value: 0 }, false],
    ['in-net', { address: '10.0.7.9', subnet: '10.0.0.0/16' }, true],
    ['in-net', { address: 'fd00::1', subnet: '10.0.0.0/16' }, false],
    ['in-net', { address: 'fd00::1', subnet: 'fd00::/8' }, true],
    ['matches', { value: '{inventory.system_vendor.manufacturer}', regex: '(?i)dell' }, false],
    ['matches', { value: '{inventory.system_vendor.manufacturer}', regex: '(?i)dell.*' }, true],
    ['contains', { value: '{inventory.system_vendor.manufacturer}', regex: 'Inc' }, true],
    ['one-of', { value: '{inventory.cpu.count}', values: [32, 64] }, true],
    ['is-none', { value: '{inventory.system_vendor.serial_number}' }, true],
    ['is-true', { value: 'Yes' }, true],
    ['is-true', { value: 'on' }, false],
    ['is-false', { value: 0 }, true],
  ] as const)('%s of %j is %s', (op, args, result) => {
    expect(check(op, args as unknown as JsonObject)).toBe(result);
    expect(check(`! ${op}`, args as unknown as JsonObject)).toBe(!result);
  });

  it('in a loop holds for any, all, the first or the last element', () => {
    const args = { values: ['{inventory.cpu.count}', '{item}'] };
    const loop = [32, 64];
    expect(check('eq', args, { loop })).toBe(true);
    expect(check('eq', args, { loop, multiple: 'all' })).toBe(false);
    expect(check('eq', args, { loop, multiple: 'last' })).toBe(true);
    expect(check('eq', args, { loop: [64, 32], multiple: 'last' })).toBe(false);
    expect(check('eq', { values: ['{item[a]}', 1] }, { loop: { a: 1 } })).toBe(true);
  });

  it('is refused for values without an order, a wrong subnet and a wrong expression', () => {
    expect(() => check('lt', { values: [1, 'a'] })).toThrow('have no order');
    expect(() => check('in-net', { address: '10.0.0.1', subnet: 'rack' })).toThrow('no subnet');
    expect(() => check('contains', { value: 'a', regex: '(' })).toThrow('cannot be checked: regex');
  });
});

const node = {
  id: 'n',
  name: 'rack1-07',
  driver: 'redfish',
  address: 'https://bmc',
  resource_class: 'baremetal',
  traits: ['CUSTOM_A'],
  declared: { rack: 'r1' },
} as unknown as NodeDocument;
const found: JsonObject = {
  rack: 'r1',
  cpus: 64,
  memory_mb: 4096,
  manufacturer: 'Dell Inc.',
  interfaces: [],
  capabilities: 'a:b',
};
const rule = (change: object): InspectionRule =>
  inspectionRuleViewSchema.parse({ id: 'r', created_at: new Date(0).toISOString(), updated_at: null, ...change });
const acting = (...actions: object[]) => afterRules(node, found, [rule({ actions })]);

describe('the rules after an inspection', () => {
  it('change class, traits, capabilities and properties, of which what they set is declared', () => {
    const { change, logs } = acting(
      { op: 'set-attribute', args: { path: '/resource_class', value: 'large' } },
      { op: 'add-trait', args: ['CUSTOM_B'] },
      { op: 'remove-trait', args: { name: 'CUSTOM_A' } },
      { op: 'set-capability', args: { name: 'c', value: '{inventory.cpu.count}' } },
      { op: 'set-attribute', args: { path: 'properties.size.cores', value: '{inventory[cpu][count]}' } },
      { op: 'extend-attribute', args: { path: '/extra/seen', value: 'x', unique: true } },
      { op: 'log', args: { msg: '{node.name} is {node.resource_class}', level: 'warning' } },
    );
    const properties = { ...found, capabilities: 'a:b,c:64', size: { cores: 64 } };
    expect(change).toEqual({
      resource_class: 'large',
      traits: ['CUSTOM_B'],
      extra: { seen: ['x'] },
      properties,
      declared: { rack: 'r1', capabilities: 'a:b,c:64', size: { cores: 64 } },
    });
    expect(logs).toEqual([{ level: 'warn', message: 'rack1-07 is large' }]);
  });

  it('run in order, see what earlier ones did, and only where all conditions hold', () => {
    const seen = { op: 'eq', args: { values: ['{plugin_data[mine][x]}', 1] } };
    const add = (name: string) => [{ op: 'add-trait', args: { name } }];
    const { change } = afterRules(node, found, [
      rule({ conditions: [seen], actions: add('CUSTOM_EARLY') }),
      rule({ actions: [{ op: 'set-plugin-data', args: { path: 'mine.x', value: 1 } }] }),
      rule({ conditions: [seen, { op: 'is-true', args: [false] }], actions: add('CUSTOM_NO') }),
      rule({ conditions: [seen], actions: add('CUSTOM_LATE') }),
    ]);
    expect(change).toEqual({ traits: ['CUSTOM_A', 'CUSTOM_LATE'], properties: found });
  });

  it('keep the form of what they do not change', () => {
    const extra = parseExact('{"10":1.0,"9":[1e2,{"b":12345678901234567890}]}') as JsonObject;
    const set = { op: 'set-attribute', args: { path: '/extra/seen', value: 'x' } };
    const { change } = afterRules({ ...node, extra }, found, [rule({ actions: [set] })]);
    expect(JSON.stringify(change.extra)).toBe('{"10":1.0,"9":[1e2,{"b":12345678901234567890}],"seen":"x"}');
  });

  it('run an action for each element of a loop', () => {
    const args = { path: '{item[path]}', value: '{item[value]}' };
    const loop = [
      { path: '/extra/cpus', value: '{inventory.cpu.count}' },
      { path: '/description', value: 'by {inventory.system_vendor.manufacturer}' },
    ];
    expect(acting({ op: 'set-attribute', args, loop }).change).toMatchObject({
      extra: { cpus: 64 },
      description: 'by Dell Inc.',
    });
  });

  it('fail the inspection by `fail`, by a field that no rule may change, and by values that no node may have', () => {
    const refused =
      (...actions: object[]) =>
      () =>
        acting(...actions);
    expect(refused({ op: 'fail', args: { msg: 'too small' } })).toThrow('refuses the machine: too small Rule r.');
    const path = '{item}';
    const loop = ['/driver_info/redfish_address'];
    expect(refused({ op: 'set-attribute', args: { path, value: 'x' }, loop })).toThrow('not driver_info');
    expect(refused({ op: 'add-trait', args: ['no trait'] })).toThrow('invalid: traits');
    expect(refused({ op: 'set-attribute', args: ['/__proto__/a', 1] })).toThrow('not __proto__');
    expect(refused({ op: 'set-attribute', args: ['/extra/__proto__/a', 1] })).not.toThrow();
    expect(({} as JsonObject)['a']).toBeUndefined();
  });

  it('are refused when they are made with wrong arguments or for a field that no rule may change', () => {
    const made = (change: object) => () =>
      requireInspectionRule(rule({ actions: [{ op: 'fail', args: ['no'] }], ...change }));
    expect(made({})).not.toThrow();
    expect(made({ conditions: [{ op: '!eq', args: { value: 1 } }] })).toThrow('it needs values; it knows no value');
    expect(made({ actions: [{ op: 'set-attribute', args: ['/driver', 'ipmi'] }] })).toThrow('not driver');
    expect(made({ actions: [{ op: 'del-attribute', args: ['/extra/a', 1] }] })).toThrow('knows no argument 2');
  });
});
