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
  it('says that nothing would happen when nothing would', async () => {
    const { id } = await world.made('s', input());
    const { rows } = await world.plan(id, input());
    expect(rows.map((row) => row.split(' ')[1])).toEqual(rows.map(() => 'unchanged'));
    expect(rows).toHaveLength(6);
  });

  it('names what is changed for certain and what perhaps, in order, across nested stacks', async () => {
    const { id } = await world.made('s', input({ more: '  gone: {type: OS::Heat::None}' }));
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

  it('shows the members of a group that come and go', async () => {
    const group = (count: number) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: ${count}, resource_def: {type: OS::Heat::None}}}
`,
    });
    const { id } = await world.made('s', group(2));
    expect((await world.plan(id, group(3))).rows).toContain('1 create g.resources.2');
    expect((await world.plan(id, group(1))).rows).toContain('1 delete g.resources.1');
  });

  it('is applied to what it was made for, and to nothing else', async () => {
    const { id } = await world.made('s', input());
    const { hash } = await world.plan(id, input({ a: 'y' }));
    await expect(world.update(id, input({ a: 'z' }), { plan_hash: hash })).rejects.toMatchObject({ code: 'Conflict' });
    await world.update(id, input({ a: 'y' }), { plan_hash: hash });
    await world.complete(id);
    await expect(world.update(id, input({ a: 'y' }), { plan_hash: hash })).rejects.toMatchObject({ code: 'Conflict' });
  });
});
