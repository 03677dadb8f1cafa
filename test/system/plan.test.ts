import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const inner = `
heat_template_version: 2018-08-31
parameters: {value: {type: string}}
resources:
  t: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
  u: {type: OS::Heat::Value, properties: {value: same}}
outputs: {out: {value: {get_attr: [t, output]}}}
`;
const input = ({ a = 'x', salt = 's', more = '' } = {}) => ({
  template: `
heat_template_version: 2018-08-31
resources:
  n: {type: inner.yaml, properties: {value: ${a}}}
  r: {type: OS::Heat::RandomString, properties: {salt: ${salt}}}
  v: {type: OS::Heat::Value, properties: {value: {get_attr: [n, out]}}}
  w: {type: OS::Heat::RandomString, properties: {salt: {get_attr: [r, value]}}}
${more}`,
  files: { 'inner.yaml': inner },
});

describe('a plan', () => {
  it('shows that an update without changes does nothing', async () => {
    const { id } = await world.createAndWait('s', input());
    const { rows } = await world.plan(id, input());
    expect(rows.map((row) => row.split(' ')[1])).toEqual(rows.map(() => 'unchanged'));
    expect(rows).toHaveLength(6);
  });

  it('lists certain and possible changes in order, across nested stacks', async () => {
    const { id } = await world.createAndWait('s', input({ more: '  gone: {type: OS::Heat::None}' }));
    const { rows } = await world.plan(id, input({ a: 'y', salt: 't', more: '  fresh: {type: OS::Heat::None}' }));
    expect(rows.toSorted()).toEqual(
      [
        '1 update n',
        '1 update n.resources.t',
        '1 unchanged n.resources.u',
        '1 replace r',
        '1 create fresh',
        '2 maybe update v',
        '2 maybe replace w',
        '3 delete gone',
      ].toSorted(),
    );
    expect(await world.show(id)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
  });

  it('shows new and removed members of a group', async () => {
    const group = (count: number) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: ${count}, resource_def: {type: OS::Heat::None}}}
`,
    });
    const { id } = await world.createAndWait('s', group(2));
    expect((await world.plan(id, group(3))).rows).toContain('1 create g.resources.2');
    expect((await world.plan(id, group(1))).rows).toContain('1 delete g.resources.1');
  });

  it('shows what is deleted with a nested stack that another resource replaces', async () => {
    const of = (name: string, type: string) =>
      `heat_template_version: 2018-08-31\nresources: {${name}: {type: ${type}}}`;
    const files = { 'outer.yaml': of('m', 'middle.yaml'), 'middle.yaml': of('r', 'OS::Heat::RandomString') };
    const { id } = await world.createAndWait('s', { template: of('n', 'outer.yaml'), files });
    const { rows } = await world.plan(id, { template: of('n', 'OS::Heat::None'), files });
    expect(rows.map((row) => row.slice(2)).toSorted()).toEqual([
      'delete n.resources.m',
      'delete n.resources.m.resources.r',
      'replace n',
    ]);
  });

  it('applies only to the same input and the same state of the stack', async () => {
    const { id } = await world.createAndWait('s', input());
    const { hash } = await world.plan(id, input({ a: 'y' }));
    await expect(world.update(id, input({ a: 'z' }), { plan_hash: hash })).rejects.toMatchObject({ code: 'Conflict' });
    await world.update(id, input({ a: 'y' }), { plan_hash: hash });
    await world.complete(id);
    await expect(world.update(id, input({ a: 'y' }), { plan_hash: hash })).rejects.toMatchObject({ code: 'Conflict' });
  });

  it('covers nested stacks with unknown properties', async () => {
    const child = `
heat_template_version: 2018-08-31
parameters: {salt: {type: string}, fixed: {type: string, default: f}}
conditions: {isT: {equals: [{get_param: salt}, t]}}
resources:
  same: {type: OS::Heat::RandomString, properties: {salt: {get_param: fixed}}}
  again: {type: OS::Heat::RandomString, properties: {salt: {get_param: salt}}}
  inPlace: {type: OS::Heat::TestResource, properties: {value: {get_param: salt}}}
  either: {type: OS::Heat::TestResource, properties: {value: {if: [isT, one, two]}}}
  perhaps: {type: OS::Heat::None, condition: isT}
  members:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: OS::Heat::TestResource, properties: {value: {get_param: salt}}}
`;
    const template = (salt: string, more = '') => ({
      template: `
heat_template_version: 2018-08-31
resources:
  r: {type: OS::Heat::TestResource, properties: {update_replace_value: ${salt}, value: v}}
  n: {type: child.yaml, properties: {salt: {get_resource: r}}}
${more}`,
      files: { 'child.yaml': child },
    });
    const { id } = await world.createAndWait('s', template('s'));
    const { rows, changes } = await world.plan(
      id,
      template('t', '  fresh: {type: child.yaml, properties: {salt: {get_resource: r}}}'),
    );
    expect(rows).toEqual([
      '1 replace r',
      '2 maybe update n',
      '2 unchanged n.resources.same',
      '2 maybe replace n.resources.again',
      '2 maybe update n.resources.inPlace',
      '2 maybe update n.resources.either',
      '2 maybe create n.resources.perhaps',
      '2 maybe update n.resources.members',
      '2 maybe update n.resources.members.resources.0',
      '2 maybe update n.resources.members.resources.1',
      '2 create fresh',
      '2 create fresh.resources.same',
      '2 create fresh.resources.again',
      '2 create fresh.resources.inPlace',
      '2 create fresh.resources.either',
      '2 maybe create fresh.resources.perhaps',
      '2 create fresh.resources.members',
      '2 create fresh.resources.members.resources.0',
      '2 create fresh.resources.members.resources.1',
    ]);
    const again = changes.find(({ resource }) => resource === 'n.resources.again');
    expect(again?.properties).toMatchObject([{ property: 'salt', known: false, replaces: true }]);
  });

  it('shows an unknown secret in the definition of a group as unknown', async () => {
    const inputOf = (value: string) => ({
      template: `
heat_template_version: 2018-08-31
parameters: {password: {type: string, hidden: true}}
resources:
  r: {type: OS::Heat::TestResource, properties: {value: ${value}}}
  g:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def:
        type: OS::Heat::TestResource
        properties: {value: {list_join: ['', [{get_param: password}, {get_attr: [r, output]}]]}}
`,
      parameters: { password: 'hush' },
    });
    const { id } = await world.createAndWait('s', inputOf('x'));
    const { rows, changes } = await world.plan(id, inputOf('y'));
    expect(rows).toEqual(['1 update r', '2 maybe update g', '2 maybe update g.resources.0']);
    expect(JSON.stringify(changes)).not.toContain('hush');
  });

  it('marks resources that are deleted before they are recreated, and numbers nested steps in order', async () => {
    const child = (salt: string) => `
heat_template_version: 2018-08-31
resources:
  first: {type: OS::Heat::RandomString, properties: {salt: ${salt}}}
  second: {type: OS::Heat::Value, properties: {value: {get_resource: first}}}
`;
    const inputOf = (salt: string) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  n: {type: child.yaml}
  after: {type: OS::Heat::TestResource, properties: {update_replace_value: ${salt}}, depends_on: n}
`,
      files: { 'child.yaml': child(salt) },
      environment: 'resource_registry: {resources: {n: {first: {replacement: delete_first}}}}',
    });
    const { id } = await world.createAndWait('s', inputOf('s'));
    const { rows, changes } = await world.plan(id, inputOf('t'));
    expect(rows).toEqual([
      '1 update n',
      '1 replace n.resources.first',
      '2 maybe update n.resources.second',
      '3 replace after',
    ]);
    const orders = changes.flatMap(({ resource, order }) => (order ? [`${resource}: ${order}`] : []));
    expect(orders).toEqual(['n.resources.first: delete before create', 'after: create before delete']);
    expect(changes[0]).toMatchObject({ because: 'what it is made of differs' });
  });

  it('replaces every resource of a replaced nested stack, and deletes every resource of a removed one', async () => {
    const group = (type: string, more = '') => ({
      template: `
heat_template_version: 2018-08-31
resources:
${type && `  g: {type: OS::Heat::ResourceGroup, properties: {index_var: ${type}, count: 2, resource_def: {type: inner.yaml, properties: {value: x}}}}`}
${more}`,
      files: { 'inner.yaml': inner },
    });
    const { id } = await world.createAndWait('s', group('"%i%"'));
    const other = (await world.plan(id, group('"%j%"'))).rows;
    expect(other).toContain('1 replace g');
    expect(other).toContain('1 replace g.resources.0.resources.t');
    const gone = (await world.plan(id, group('', '  x: {type: OS::Heat::None}'))).rows;
    expect(gone).toContain('2 delete g');
    expect(gone).toContain('2 delete g.resources.1.resources.u');
  });
});
