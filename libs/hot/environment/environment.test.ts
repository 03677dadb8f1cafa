import { describe, expect, it } from 'vitest';
import { compile } from '../compile.ts';
import { render } from '../render.ts';
import { types } from '../testing/types-and-compile.ts';

const parameters = `
parameters:
  text: {type: string, default: d}
  list: {type: comma_delimited_list, default: x}
  map: {type: json, default: {z: 1}}
  flag: {type: boolean, default: true}
`;
const template = `heat_template_version: rocky\n${parameters}`;
const answer = (environments: readonly object[], more: { template?: string; files?: Record<string, string> } = {}) => {
  const texts = environments.map((environment) => JSON.stringify(environment));
  return render({ template, environments: texts, stackName: 's', stackId: '', projectId: 'p', types, ...more });
};

describe('environments', () => {
  it('are merged in order: a later value overwrites an earlier one, unless a strategy differs', () => {
    const first = (strategy: string) => ({
      parameters: { text: 'a', list: 'a', map: { a: { b: [1] } } },
      parameter_merge_strategies: { default: strategy },
    });
    // The strategies of the first file also apply to later files that set none.
    const second = { parameters: { text: 'b', list: 'b', map: { a: { b: [2] }, c: 3 } } };
    const values = (strategy: string) => answer([first(strategy), second]);
    expect(values('overwrite')).toMatchObject({ rendered: { parameters: { text: 'b', list: ['b'] } } });
    expect(values('merge')).toMatchObject({
      rendered: { parameters: { text: 'ab', list: ['a', 'b'], map: { a: { b: [2] }, c: 3 } } },
    });
    expect(values('deep_merge')).toMatchObject({ rendered: { parameters: { map: { a: { b: [1, 2] }, c: 3 } } } });
  });

  it('name event sinks, of which a later one replaces an earlier one with the same target', () => {
    const sink = { type: 'zaqar-queue', target: 'q', ttl: 120 };
    const compiled = (environments: readonly object[]) =>
      compile({
        template,
        environments: environments.map((environment) => JSON.stringify(environment)),
        stackName: 's',
        stackId: '',
        projectId: 'p',
        types,
      });
    expect(compiled([{ event_sinks: [sink] }])).toMatchObject({
      plan: { event_sinks: [sink] },
      environment: { event_sinks: [sink] },
    });
    const other = { type: 'zaqar-queue', target: 'other' };
    expect(compiled([{ event_sinks: [sink, other] }, { event_sinks: [{ ...sink, ttl: 60 }] }])).toMatchObject({
      plan: {
        event_sinks: [
          { ...other, ttl: 3600 },
          { ...sink, ttl: 60 },
        ],
      },
    });
    expect(compiled([{ event_sinks: [] }])).not.toHaveProperty('plan.event_sinks');
    const wrong = [{ type: 'zaqar-queu', target: 'q' }, { type: 'zaqar-queue', target: 'a b', ttl: 0, more: 1 }, 'q'];
    expect(compiled([{ event_sinks: wrong }])).toMatchObject({
      mistakes: [
        { code: 'InvalidEventSink', path: 'event_sinks.0.type', nearest: 'zaqar-queue' },
        { path: 'event_sinks.1.target' },
        { path: 'event_sinks.1.ttl' },
        { path: 'event_sinks.1' },
        { path: 'event_sinks.2' },
      ],
    });
    const many = Array.from({ length: 11 }, (_, index) => ({ type: 'zaqar-queue', target: `q${index}` }));
    expect(compiled([{ event_sinks: many }])).toMatchObject({ mistakes: [{ path: 'event_sinks' }] });
  });

  it('may not name different strategies for one parameter, nor merge booleans', () => {
    const one = { parameters: { flag: 'a' }, parameter_merge_strategies: { flag: 'merge' } };
    const other = { parameters: { flag: 'b' }, parameter_merge_strategies: { flag: 'overwrite' } };
    expect(answer([one, other])).toMatchObject({ mistakes: [{ code: 'ConflictingMergeStrategy' }, {}] });
    expect(answer([one, one])).toMatchObject({
      mistakes: [{ message: "Invalid merge strategy 'merge' for parameter 'flag'." }, {}],
    });
  });

  it('map types by the rules of the registry', () => {
    const named = 'heat_template_version: rocky\nresources: {v: {type: My::Value, properties: {value: 1}}}\n';
    const served = (registry: object) => {
      const result = answer([{ resource_registry: registry }], { template: named });
      if (!('rendered' in result)) return result.mistakes[0]?.code;
      return (result.rendered.resources['v'] as { resolved_type: string }).resolved_type;
    };
    expect(served({ 'My::*': 'OS::Heat::*' })).toBe('OS::Heat::Value');
    expect(served({ 'My::Value': 'A', A: 'OS::Heat::Value' })).toBe('OS::Heat::Value');
    // The plain order of the keys decides; a star sorts before every letter.
    expect(served({ 'My::Value': 'OS::Heat::Value', 'My::V*': 'OS::Heat::None' })).toBe('OS::Heat::None');
    expect(served({ 'My::Value': 'OS::Heat::Value', resources: { v: { 'My::Value': 'OS::Heat::None' } } })).toBe(
      'OS::Heat::None',
    );
    expect(served({ 'My::V*': 'Nowhere', 'My::Value': 'OS::Heat::Value' })).toBe('OS::Heat::Value');
    expect(served({ 'My::Value': 'OS::Heat::Value', 'My::*': null })).toBe('UnknownType');
    expect(served({ 'My::Value': 'B', B: 'My::Value' })).toBe('Cycle');
    expect(served({ '*': 'OS::Heat::None' })).toBe('OS::Heat::None');
  });

  it('are refused with unknown hooks or actions', () => {
    const registry = { resources: { 'web*': { hooks: 'pre-crate', restricted_actions: ['replace', 'delete'] } } };
    expect(answer([{ resource_registry: registry }])).toMatchObject({
      mistakes: [
        { code: 'InvalidRegistry', nearest: 'pre-create' },
        { code: 'InvalidRegistry', found: 'delete' },
      ],
    });
    const replacement = { resources: { 'web*': { replacement: 'delete-first' } } };
    expect(answer([{ resource_registry: replacement }])).toMatchObject({
      mistakes: [{ code: 'InvalidRegistry', nearest: 'delete_first' }],
    });
  });

  it('are refused with a wrong policy for lost members, or one for a resource that is no group that scales', () => {
    const named = 'heat_template_version: rocky\nresources: {v: {type: OS::Heat::Value, properties: {value: v}}}';
    const policy = (name: string, replace_lost: object) =>
      answer([{ resource_registry: { resources: { [name]: { replace_lost } } } }], { template: named });
    const path = 'resource_registry.resources.v.replace_lost';
    expect(policy('*', { after: -1, least: 2 })).toMatchObject({
      mistakes: [
        { code: 'InvalidRegistry', path: 'resource_registry.resources.*.replace_lost.after' },
        { code: 'InvalidRegistry', message: expect.stringContaining('"least"') },
      ],
    });
    expect(policy('v', { after: 60 })).toMatchObject({
      mistakes: [{ code: 'InvalidRegistry', path, message: expect.stringContaining('OS::Heat::AutoScalingGroup') }],
    });
    expect(policy('*', { after: 60 })).toHaveProperty('rendered');
  });

  it('give a server a policy for its own loss, and refuse that it keeps members in service', () => {
    const named =
      'heat_template_version: rocky\nresources: {s: {type: OS::Nova::Server, properties: {flavor: f, image: any}}}';
    const policy = (replace_lost: object) =>
      answer([{ resource_registry: { resources: { s: { replace_lost } } } }], { template: named });
    expect(policy({ after: 60, node_faults: true })).toHaveProperty('rendered');
    expect(policy({ after: 60, min_in_service: 1 })).toMatchObject({
      mistakes: [{ code: 'InvalidRegistry', message: expect.stringContaining('one server') }],
    });
  });
});
