import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const child = `
heat_template_version: 2018-08-31
parameters:
  value: {type: string}
  secret: {type: string, default: none}
  fail: {type: boolean, default: false}
  wait: {type: number, default: 0}
resources:
  inner:
    type: OS::Heat::TestResource
    properties: {value: {get_param: value}, fail: {get_param: fail}, wait_secs: {get_param: wait}}
  held: {type: OS::Heat::Value, properties: {value: {get_param: secret}}}
outputs:
  out: {value: {get_attr: [inner, output]}}
  secret: {value: {get_attr: [held, value]}}
`;
const around = (properties: string, more = '') => `
heat_template_version: 2018-08-31
parameters:
  password: {type: string, hidden: true}
resources:
  nested: {type: My::Nested, properties: ${properties}}
  after: {type: OS::Heat::Value, properties: {value: {get_attr: [nested, out]}}}
${more}
outputs:
  out: {value: {get_attr: [nested, out]}}
  after: {value: {get_attr: [after, value]}}
  inside: {value: {get_attr: [nested, resource.inner, output]}}
  dotted: {value: {get_attr: [nested, resource.inner.output]}}
  id: {value: {get_attr: [nested, resource.inner]}}
  secret: {value: {get_attr: [nested, secret]}}
`;
const environment = { resource_registry: { 'My::Nested': 'child.yaml' } };
const files = { 'child.yaml': child };
const parameters = { password: 'hush' };
const input = (properties: string, more = '') => ({
  template: around(properties, more),
  files,
  environment,
  parameters,
});

describe('a resource that is a template', () => {
  it('is a nested stack that is created, read, updated in place and deleted with its parent', async () => {
    const root = await world.createAndWait('s', input('{value: x}'));
    expect(world.outputs(root)).toMatchObject({ out: 'x', after: 'x', inside: 'x', dotted: 'x', secret: 'none' });
    const nested = (await world.resources(root.id)).find(({ name }) => name === 'nested');
    expect(nested).toMatchObject({ type: 'My::Nested', physical_id: nested?.id, attributes: { out: 'x' } });
    const inner = await world.show(nested?.id ?? '');
    expect(inner).toMatchObject({ parent: root.id, parent_resource: 'nested', root: root.id, depth: 1 });
    expect((await world.stacks(false)).map(({ name }) => name)).toEqual(['s']);
    expect((await world.stacks(true)).map(({ id }) => id).sort()).toEqual([root.id, inner.id].sort());
    expect((await world.resources(root.id, 1)).map(({ name }) => name).sort()).toEqual([
      'after',
      'held',
      'inner',
      'nested',
    ]);

    const updated = await world.updated(root.id, input('{value: y}'));
    expect(world.outputs(updated)).toMatchObject({ out: 'y', after: 'y', inside: 'y', dotted: 'y' });
    expect((await world.resources(root.id)).find(({ name }) => name === 'nested')?.id).toBe(inner.id);
    expect(await world.show(inner.id)).toMatchObject({ action: 'UPDATE', status: 'COMPLETE' });

    await world.remove(root.id);
    await world.complete(root.id);
    expect(await world.show(inner.id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    expect(await world.stacks(true)).toEqual([]);
  });

  it('stays untouched in an update without changes, and follows changes of its template', async () => {
    const root = await world.createAndWait('s', input('{value: x}'));
    const before = await world.events(root.id, 5);
    await world.updated(root.id, input('{value: x}'));
    expect((await world.events(root.id, 5)).slice(before.length)).toEqual([
      's UPDATE IN_PROGRESS',
      's UPDATE COMPLETE',
    ]);
    const other = child.replace('out: {value: {get_attr: [inner, output]}}', 'out: {value: other}');
    const updated = await world.updated(root.id, { ...input('{value: x}'), files: { 'child.yaml': other } });
    expect(world.outputs(updated)).toMatchObject({ out: 'other', after: 'other' });
  });

  it('fails with the root cause first, and is repaired in place', async () => {
    const { id } = await world.create('s', input('{value: x, fail: true}'));
    const failed = await world.settled(id);
    expect(failed).toMatchObject({
      status: 'FAILED',
      reason: 'Resource CREATE failed: ValueError: resources.nested.resources.inner: Test Resource failed inner',
      failures: [{ resource: 'nested.resources.inner', type: 'OS::Heat::TestResource' }],
    });
    const before = (await world.resources(id)).find(({ name }) => name === 'nested');
    const repaired = await world.updated(id, input('{value: y}'));
    expect(world.outputs(repaired)).toMatchObject({ out: 'y', after: 'y' });
    expect((await world.resources(id)).find(({ name }) => name === 'nested')?.id).toBe(before?.id);
  });

  it('keeps a secret parameter secret', async () => {
    const root = await world.createAndWait('s', input('{value: x, secret: {get_param: password}}'));
    expect(world.outputs(root)).toMatchObject({ secret: 'hush' });
    expect(JSON.stringify(await world.resources(root.id, 1))).not.toContain('hush');
    const databases = (await readdir(world.context.directory)).filter((name) => /\.db/.test(name));
    expect(databases.length).toBeGreaterThan(1);
    for (const name of databases) {
      expect((await readFile(join(world.context.directory, name))).includes('hush'), name).toBe(false);
    }
  });

  it('gets the numbers of its properties in the form in which they were written', async () => {
    const root = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
parameters: {ratio: {type: number, default: 1.0}, map: {type: json, default: {a: 2.0}}}
resources:
  n: {type: inner.yaml, properties: {ratio: {get_param: ratio}, written: 3.0, map: {get_param: map}, whole: 4}}
outputs:
  text: {value: {get_attr: [n, text]}}
`,
      files: {
        'inner.yaml': `
heat_template_version: 2018-08-31
parameters: {ratio: {type: number}, written: {type: number}, map: {type: json}, whole: {type: number}}
resources: {none: {type: OS::Heat::None}}
outputs:
  text:
    value:
      str_replace:
        template: R S T U
        params: {R: {get_param: ratio}, S: {get_param: written}, T: {get_param: [map, a]}, U: {get_param: whole}}
`,
      },
    });
    expect(world.outputs(root)).toEqual({ text: '1.0 3.0 2.0 4' });
    const nested = (await world.stacks(true)).find(({ id }) => id !== root.id);
    const shown = await world.show(nested?.id ?? '');
    expect(shown.parameters).toMatchObject({ ratio: '1.0', written: '3.0', map: '{"a": 2.0}', whole: '4' });
  });

  it('is deleted during its creation', async () => {
    const endless = child.replace('wait_secs: {get_param: wait}', 'action_wait_secs: {create: {get_param: wait}}');
    const { id } = await world.create('s', { ...input('{value: x, wait: -1}'), files: { 'child.yaml': endless } });
    const nested = await eventually(async () => (await world.stacks(true)).find(({ parent }) => parent === id));
    expect(nested.name).toMatch(/^s-nested-[a-z2-7]{12}$/);
    await world.remove(id);
    expect(await world.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    expect(await world.show(nested.id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
  });

  it('reports the errors of its properties as soon as their values are known', async () => {
    const { id } = await world.create('s', {
      template: `
heat_template_version: 2018-08-31
resources:
  v: {type: OS::Heat::Value, properties: {value: [1]}}
  nested: {type: child.yaml, properties: {value: x, wait: {get_attr: [v, value]}}}
`,
      files,
    });
    const failed = await world.settled(id);
    expect(failed.status).toBe('FAILED');
    expect(failed.reason).toContain('resources.nested');
    await world.remove(id);
    await world.complete(id);
  });

  it('rolls back with its parent stack', async () => {
    const root = await world.createAndWait('s', input('{value: x}'));
    const more = '  bad: {type: OS::Heat::TestResource, properties: {fail: true}, depends_on: nested}';
    const { plan: _ } = await world.update(root.id, input('{value: y}', more));
    await world.settled(root.id);
    await world.act(root.id, { kind: 'rollback' });
    const back = await world.complete(root.id);
    expect(back.action).toBe('ROLLBACK');
    expect(world.outputs(back)).toMatchObject({ out: 'x', after: 'x' });
  });

  it('keeps the value of an immutable parameter: an update of it fails, changes nothing inside, and rolls back', async () => {
    const inputOf = (fixed: string) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  nested: {type: fixed.yaml, properties: {fixed: ${fixed}}}
`,
      files: {
        'fixed.yaml': `
heat_template_version: 2018-08-31
parameters: {fixed: {type: string, immutable: true}}
resources: {inner: {type: OS::Heat::TestResource, properties: {value: {get_param: fixed}}}}
`,
      },
    });
    const { id } = await world.createAndWait('s', inputOf('x'));
    const { changes } = await world.plan(id, inputOf('y'));
    const refusal = 'The following parameters are immutable and may not be updated: fixed';
    expect(changes[0]?.because).toContain(refusal);
    await world.update(id, inputOf('y'));
    expect(await world.settled(id)).toMatchObject({ action: 'UPDATE', status: 'FAILED' });
    const [nested, inner] = await world.resources(id, 1);
    expect(nested).toMatchObject({ action: 'UPDATE', status: 'FAILED' });
    expect(nested?.reason).toContain(refusal);
    expect(inner).toMatchObject({ action: 'CREATE', status: 'COMPLETE', properties: { value: 'x' } });
    await world.updated(id, inputOf('x'));
  });

  it('has the same reference as in Heat: an output of its template, the name of its stack, or its id', async () => {
    const leaf = 'heat_template_version: 2018-08-31\nresources: {v: {type: OS::Heat::RandomString}}\n';
    const root = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
resources:
  plain: {type: leaf.yaml}
  said: {type: said.yaml}
  group: {type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: leaf.yaml}}}
  chain: {type: OS::Heat::ResourceChain, properties: {resources: [OS::Heat::None]}}
  remote: {type: OS::Heat::Stack, properties: {template: {get_file: leaf.yaml}}}
  cfn: {type: AWS::CloudFormation::Stack, properties: {TemplateURL: leaf.yaml}}
outputs:
  plain: {value: {get_resource: plain}}
  said: {value: {get_resource: said}}
  group: {value: {get_resource: group}}
  chain: {value: {get_resource: chain}}
  remote: {value: {get_resource: remote}}
  cfn: {value: {get_resource: cfn}}
  refs: {value: {get_attr: [group, refs]}}
`,
      files: {
        'leaf.yaml': leaf,
        'said.yaml': `${leaf}outputs: {OS::stack_id: {value: its own}}\n`,
      },
    });
    const all = await world.resources(root.id, 1);
    const idOf = (name: string) => all.find((row) => row.name === name)?.physical_id;
    const arnOf = (name: string) => {
      // The member of the chain has the same name as the member of the group, but is not a stack.
      const { id, name: stack } = all.find((row) => row.name === name && row.nested_stack)?.nested_stack ?? {};
      return `arn:openstack:heat::p1:stacks/${stack}/${id}`;
    };
    expect(world.outputs(root)).toEqual({
      plain: arnOf('plain'),
      said: 'its own',
      group: idOf('group'),
      chain: idOf('chain'),
      remote: idOf('remote'),
      cfn: arnOf('cfn'),
      refs: [arnOf('0')],
    });
  });

  it('reads the properties of its resource in the parent stack, also secrets, and follows their changes', async () => {
    const facade = `
heat_template_version: 2018-08-31
resources:
  v: {type: OS::Heat::Value, properties: {value: {resource_facade: metadata}}}
outputs:
  seen: {value: {get_attr: [v, value]}}
`;
    const rootOf = (metadata: string) => ({
      files: { 'facade.yaml': facade },
      parameters,
      template: `
heat_template_version: 2018-08-31
parameters: {password: {type: string, hidden: true}}
resources: {n: {type: facade.yaml, metadata: ${metadata}}}
outputs: {seen: {value: {get_attr: [n, seen]}}}
`,
    });
    const root = await world.createAndWait('s', rootOf('{a: 1}'));
    expect(world.outputs(root)['seen']).toEqual({ a: 1 });
    expect(world.outputs(await world.updated(root.id, rootOf('{a: 2}')))['seen']).toEqual({ a: 2 });
    const secret = await world.updated(root.id, rootOf('{a: {get_param: password}}'));
    expect(world.outputs(secret)['seen']).toEqual({ a: 'hush' });
    expect(JSON.stringify(await world.resources(root.id, 1))).not.toContain('hush');
  });
});

describe('an output that reads an unknown parameter, or whose function cannot take a value', () => {
  const wrong = `
heat_template_version: 2018-08-31
parameters: {map: {type: json, default: {a: b}}}
resources:
  t: {type: OS::Heat::TestResource, properties: {value: x}}
outputs:
  good: {value: {get_attr: [t, output]}}
  bad: {value: {get_param: foo}}
  map: {value: {str_split: [',', {get_param: map}]}}
`;
  const given = (more: string, outputs: string) => ({
    template: `
heat_template_version: 2018-08-31
resources:
  n: {type: wrong.yaml}
  g: {type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: wrong.yaml}}}
${more}
outputs: ${outputs}
`,
    files: { 'wrong.yaml': wrong },
  });

  it('has the error in place of a value, and so have the outputs that read it of a nested stack', async () => {
    const outputs =
      '{good: {value: {get_attr: [n, good]}}, bad: {value: {get_attr: [n, bad]}}, group: {value: {get_attr: [g, bad]}}, own: {value: {get_param: foo}}, map: {value: {get_attr: [n, map]}}}';
    const { id } = await world.createAndWait('s', given('', outputs));
    const shown = (await world.updated(id, given('', outputs))).outputs ?? [];
    expect(shown).toMatchObject([
      { key: 'good', value: 'x' },
      { key: 'bad', value: null, error: 'Error in n output bad: The Parameter (foo) was not provided.' },
      { key: 'group', value: null, error: 'Error in 0 output bad: The Parameter (foo) was not provided.' },
      { key: 'own', value: null, error: 'The Parameter (foo) was not provided.' },
      { key: 'map', value: null, error: expect.stringMatching(/^Error in n output map: .*must split a string/) },
    ]);
    expect(shown[0]).not.toHaveProperty('error');
  });

  it('fails a resource that reads it', async () => {
    const reader = '  r: {type: OS::Heat::Value, properties: {value: {get_attr: [n, bad]}}}';
    const { id } = await world.create('s', given(reader, '{}'));
    expect(await world.settled(id)).toMatchObject({
      status: 'FAILED',
      reason: expect.stringContaining('Error in n output bad: The Parameter (foo) was not provided.') as string,
    });
  });
});
