import type { JsonObject } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { pythonText } from '@anneal/python/values/compare.ts';
import { type PartialValue, unknown } from '../evaluate/unknown.ts';
import { type GroupMembers, readGroup } from './attribute.ts';
import { batchesOf, nextMembers } from './change.ts';
import { firstMembers } from './group.ts';
import { memberTemplate } from './member.ts';
import { memberNames, nextNumbered, nextSkipped, numberedDefinition, skippedNumbers } from './numbered.ts';
import { instanceDefinition, wrongSizes } from './scaling.ts';

const group = 'OS::Heat::ResourceGroup';
const properties: JsonObject = {
  count: 2,
  index_var: '%index%',
  resource_def: { type: 'T', properties: { name: 'web-%index%', deep: [{ '%index%': '%index%.%index%' }], no: null } },
  removal_policies: [],
};
const newName = (position: number): string => `m${position}`;

describe('members of a ResourceGroup', () => {
  it('have their number inserted in every text of their properties, and nowhere else', () => {
    const written = {
      ...properties,
      resource_def: { ...(properties['resource_def'] as JsonObject), metadata: { a: '%index%' } },
    };
    expect(numberedDefinition({ properties: written, name: '1' })).toEqual({
      type: 'T',
      properties: { name: 'web-1', deep: [{ '%index%': '1.1' }] },
      metadata: { a: '%index%' },
    });
  });

  it('G1: never get a name that was removed', () => {
    expect(memberNames({ count: 3, skipped: new Set(['0', '2']) })).toEqual(['1', '3', '4']);
  });

  it('are removed by name or by reference; an entry without a match is ignored', () => {
    const references = new Map([
      ['0', 'id-0'],
      ['1', 'id-1'],
    ]);
    const policies = { ...properties, removal_policies: [{ resource_list: [0, 'id-1', 'unmatched'] }] };
    expect(nextSkipped({ properties: policies, skipped: new Set(['7']), references })).toEqual(['0', '1', '7']);
    const update = { ...policies, removal_policies_mode: 'update' };
    expect(nextSkipped({ properties: update, skipped: new Set(['7']), references })).toEqual(['0', '1']);
    expect(nextSkipped({ properties: policies, skipped: new Set(), references: undefined })).toEqual([
      '0',
      'id-1',
      'unmatched',
    ]);
  });

  it('change batch by batch, highest numbers first, while the others stay unchanged', () => {
    const before = { type: 'T', properties: { name: 'old' } };
    const current = ['0', '1', '2'].map((name) => ({ name, definition: before }));
    const next = nextNumbered({
      current,
      properties: { ...properties, count: 3 },
      skipped: new Set(),
      total: 3,
      changes: 2,
    });
    const changed = next.filter(({ definition }) => definition !== before).map(({ name }) => name);
    expect(changed).toEqual(['2', '1']);
  });

  it('are removed first when a removal policy names them', () => {
    const current = ['0', '1', '2'].map((name) => ({ name, definition: { type: 'T' } }));
    const next = nextNumbered({ current, properties, skipped: new Set(['0']), total: 2, changes: 0 });
    expect(next.map(({ name }) => name).sort()).toEqual(['1', '2']);
  });
});

describe('a group that changes', () => {
  const current = ['a', 'b', 'c'].map((name) => ({ name, definition: { type: 'Old' } }));
  const definition = (): JsonObject => ({ type: 'New' });

  it('loses the first of its members when it shrinks', () => {
    const next = nextMembers({ current, definition, size: 2, changes: 0, newName: () => 'd' });
    expect(next).toEqual(current.slice(1));
    expect(nextMembers({ current, definition, size: 0, changes: 9, newName: () => 'd' })).toEqual([]);
  });

  it('counts new members among the changes', () => {
    const next = nextMembers({ current, definition, size: 4, changes: 2, newName: () => 'd' });
    expect(next.map(({ name, definition: { type } }) => [name, type])).toEqual([
      ['a', 'New'],
      ['b', 'Old'],
      ['c', 'Old'],
      ['d', 'New'],
    ]);
  });

  it('grows temporarily when members must stay in service', () => {
    expect(batchesOf({ target: 4, current: 4, most: 2, least: 3 })).toEqual([
      { size: 5, changes: 2 },
      { size: 5, changes: 2 },
      { size: 4, changes: 0 },
    ]);
    expect(batchesOf({ target: 3, current: 0, most: 2, least: 0 })).toEqual([
      { size: 2, changes: 2 },
      { size: 3, changes: 1 },
    ]);
    expect(batchesOf({ target: 0, current: 0, most: 1, least: 0 })).toEqual([]);
  });
});

describe('the members of other groups', () => {
  it('of a chain are created one after another', () => {
    const chain = { resources: ['A', 'B'], resource_properties: { x: 1 }, concurrent: false };
    expect(firstMembers({ type: 'OS::Heat::ResourceChain', properties: chain, newName })).toEqual([
      { name: '0', definition: { type: 'A', properties: { x: 1 } } },
      { name: '1', definition: { type: 'B', properties: { x: 1 }, depends_on: ['0'] } },
    ]);
  });

  it('of a concurrent chain do not wait for each other', () => {
    const chain = { resources: ['A', 'B'], concurrent: true };
    expect(firstMembers({ type: 'OS::Heat::ResourceChain', properties: chain, newName })).toEqual([
      { name: '0', definition: { type: 'A' } },
      { name: '1', definition: { type: 'B' } },
    ]);
  });

  it('of deployments have the names of their servers', () => {
    const given = { servers: { web: 'id-1' }, config: 'c', name: null };
    expect(firstMembers({ type: 'OS::Heat::StructuredDeploymentGroup', properties: given, newName })).toEqual([
      {
        name: 'web',
        definition: { type: 'OS::Heat::StructuredDeployment', properties: { config: 'c', server: 'id-1' } },
      },
    ]);
  });

  it('of a scaling group start at the desired capacity, where 0 means unset', () => {
    const scaling = { resource: { type: 'T', description: 'x' }, min_size: 1, max_size: 3, desired_capacity: 0 };
    const members = firstMembers({ type: 'OS::Heat::AutoScalingGroup', properties: scaling, newName });
    expect(members).toEqual([{ name: 'm0', definition: { type: 'T' } }]);
    expect(wrongSizes({ ...scaling, desired_capacity: 4 })).toBe('DesiredCapacity must be between MinSize and MaxSize');
    expect(wrongSizes({ ...scaling, min_size: 4 })).toBe('MinSize can not be greater than MaxSize');
  });

  it('of an instance group follow its launch configuration and are tagged', () => {
    const configuration = { properties: { ImageId: 'i', InstanceId: 'x' }, metadata: {} };
    expect(instanceDefinition({ properties: { VPCZoneIdentifier: ['net'] }, configuration, group: 'g' })).toEqual({
      type: 'OS::Heat::ScaledResource',
      properties: { ImageId: 'i', Tags: [{ Key: 'metering.groupname', Value: 'g' }], SubnetId: 'net' },
    });
  });
});

describe('the template of the members', () => {
  const members = ['0', '1'].map((name) => ({ name, definition: { type: 'T' } }));

  it('has an output for each attribute in use', () => {
    const reads = [['refs'], ['ip', 0], ['attributes', 'ip'], ['resource.1.ip'], ['resource.9.ip']] as const;
    expect(memberTemplate({ type: group, members, reads })['outputs']).toEqual({
      refs: { value: [{ get_resource: '0' }, { get_resource: '1' }] },
      'ip, 0': { value: [{ get_attr: ['0', 'ip', 0] }, { get_attr: ['1', 'ip', 0] }] },
      'attributes, ip': { value: { 0: { get_attr: ['0', 'ip'] }, 1: { get_attr: ['1', 'ip'] } } },
      'resource.1.ip': { value: { get_attr: ['1', 'ip'] } },
      refs_map: { value: { 0: { get_resource: '0' }, 1: { get_resource: '1' } } },
    });
  });

  it('of a scaling group keeps maps, since positions follow age', () => {
    const reads = [['outputs_list', 'ip'], ['resource.0.ip'], ['refs']] as const;
    expect(
      Object.keys(memberTemplate({ type: 'OS::Heat::AutoScalingGroup', members, reads })['outputs'] as object),
    ).toEqual(['outputs, ip', 'references']);
  });
});

describe('attributes of a group', () => {
  const members: GroupMembers = {
    names: ['b', 'a'],
    reference: (name) => `id-${name}`,
    attribute: (name, attribute, path) => [name, attribute, ...path.map(pythonText)].join('/'),
  };
  const read = (type: string, attribute: string, ...path: (string | number)[]): PartialValue | string => {
    const answer = readGroup({ group: 'g', type, members, skipped: ['7'], attribute, path });
    return 'value' in answer ? answer.value : answer.problem;
  };

  it('of a ResourceGroup', () => {
    expect(read(group, 'refs')).toEqual(['id-b', 'id-a']);
    expect(read(group, 'refs', 1)).toBe('id-a');
    expect(read(group, 'refs_map')).toEqual({ b: 'id-b', a: 'id-a' });
    expect(read(group, 'attributes', 'x', 'y')).toEqual({ b: 'b/x/y', a: 'a/x/y' });
    expect(read(group, 'attributes')).toBe('The Referenced Attribute (g attributes) is incorrect.');
    expect(read(group, 'x', 0)).toEqual(['b/x/0', 'a/x/0']);
    expect(read(group, 'resource.a')).toBe('id-a');
    expect(read(group, 'resource.a.x', 0)).toBe('a/x/0');
    expect(read(group, 'resource.a', 'x', 0)).toBe('a/x/0');
    expect(read(group, 'resource.z')).toBe("Member 'z' not found in group resource 'g'.");
    expect(read(group, 'removed_rsrc_list')).toEqual(['7']);
  });

  it('of a scaling group have positions by age', () => {
    const type = 'OS::Heat::AutoScalingGroup';
    expect(read(type, 'current_size')).toBe(2);
    expect(read(type, 'outputs', 'x')).toEqual({ b: 'b/x', a: 'a/x' });
    expect(read(type, 'outputs_list', 'x')).toEqual(['b/x', 'a/x']);
    expect(read(type, 'resource.0.x')).toBe('b/x');
    expect(read(type, 'resource.2')).toBe("Member '2' not found in group resource 'g'.");
    expect(read(type, 'x')).toBe('The Referenced Attribute (g x) is incorrect.');
  });

  it('of deployments are maps by server, under the names of the group', () => {
    const type = 'OS::Heat::SoftwareDeploymentGroup';
    expect(read(type, 'deploy_stdouts')).toEqual({ b: 'b/deploy_stdout', a: 'a/deploy_stdout' });
    expect(read(type, 'result', 'a')).toBe('a/result');
  });

  it('of instances are their addresses, and unknown while one of them is', () => {
    const type = 'OS::Heat::InstanceGroup';
    expect(read(type, 'InstanceList')).toBe('b/PublicIp,a/PublicIp');
    const none = readGroup({
      group: 'g',
      type,
      members: { ...members, names: [] },
      attribute: 'InstanceList',
      path: [],
    });
    expect(none).toEqual({ value: null });
    const open: GroupMembers = { ...members, attribute: () => unknown };
    expect(readGroup({ group: 'g', type, members: open, attribute: 'InstanceList', path: [] })).toEqual({
      value: unknown,
    });
  });
});

describe('the numbers that an adopted group skips', () => {
  it('are those below its highest member that no member has', () => {
    expect(skippedNumbers(['0', '3', 'old', '03'])).toEqual(['1', '2']);
    expect(skippedNumbers(['old'])).toEqual([]);
  });

  it.each(['10001', '99999999', '100000000000000', '1e9'])('are not counted up to %s', (name) => {
    const before = process.memoryUsage().heapUsed;
    const count = () => skippedNumbers(['0', name]);
    if (name === '1e9') expect(count()).toEqual([]);
    else expect(count).toThrow('the highest number of a member is 10000');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
  });
});

describe('members that leave', () => {
  const members: GroupMembers = {
    names: ['0', '1'],
    leaving: [
      { name: '0', key: 'old 0' },
      { name: '7', key: 'old 7' },
    ],
    reference: (name) => `id of ${name}`,
    attribute: (name, attribute) => `${attribute} of ${name}`,
  };
  const read = (type: string, attribute: string, path: readonly string[] = []) => {
    const found = readGroup({ group: 'g', type, members, attribute, path });
    return 'value' in found ? found.value : found.problem;
  };
  const heat = 'OS::Heat::ResourceGroup';
  const scaling = 'OS::Heat::AutoScalingGroup';

  it('are in lists, behind the others', () => {
    expect(read(heat, 'refs')).toEqual(['id of 0', 'id of 1', 'id of old 0', 'id of old 7']);
    expect(read(heat, 'ip')).toEqual(['ip of 0', 'ip of 1', 'ip of old 0', 'ip of old 7']);
    expect(read(scaling, 'outputs_list', ['ip'])).toEqual(['ip of 0', 'ip of 1', 'ip of old 0', 'ip of old 7']);
    expect(read('OS::Heat::InstanceGroup', 'InstanceList')).toBe(
      'PublicIp of 0,PublicIp of 1,PublicIp of old 0,PublicIp of old 7',
    );
  });

  it('are in maps, unless another member has their name', () => {
    expect(read(heat, 'refs_map')).toEqual({ 0: 'id of 0', 1: 'id of 1', 7: 'id of old 7' });
    expect(read(scaling, 'outputs', ['ip'])).toEqual({ 0: 'ip of 0', 1: 'ip of 1', 7: 'ip of old 7' });
  });

  it('count for no size and no position', () => {
    expect(read(scaling, 'current_size')).toBe(2);
    expect(read(scaling, 'resource.-1')).toBe('id of 1');
  });
});
