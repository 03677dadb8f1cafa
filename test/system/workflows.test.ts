/** Workflows as resources of stacks, on the real bus and store. */
import {
  executionList,
  executionShow,
  workflowCreate,
  workflowList,
  type ExecutionView,
} from '@anneal/contracts/calls/workflow.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

const project = 'p1';
let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const executions = async (): Promise<ExecutionView[]> =>
  (await world.ask(executionList, { project, limit: 100 })).executions;
const ended = (count: number): Promise<ExecutionView[]> => {
  let last: ExecutionView[] = [];
  return eventually(
    async () => {
      last = await executions();
      return last.length === count && last.every(({ finished_at: at }) => at !== null) ? last : undefined;
    },
    { what: `${count} ended executions`, last: () => last },
  );
};

describe('OS::Mistral::Workflow', () => {
  const template = (word: string, more = '') => `
heat_template_version: 2018-08-31
parameters: {secret: {type: string, hidden: true, default: s3cret}}
resources:
  wf:
    type: OS::Mistral::Workflow
    properties:
      name: greet
      type: direct
      input: {who: friend, times: 2}
      params: {env: {region: r1}}
      output: {said: <% $.said %>, region: <% env().region %>}
      tasks:
      - name: say
        action: std.echo
        input: {output: '${word} <% $.who %>'}
        publish: {said: <% task().result %>}
        on_success: [check]
      - name: check
        join: 1
        action: std.noop${more}
outputs:
  ref: {value: {get_resource: wf}}
  data: {value: {get_attr: [wf, data]}}
  executions: {value: {get_attr: [wf, executions]}}
`;

  it('is a workflow of its name; a signal starts it with the input of the template and its own', async () => {
    const { id } = await world.createAndWait('s', { template: template('hello') });
    expect(world.outputs(await world.show(id))).toMatchObject({
      ref: 'greet',
      data: { name: 'greet' },
      executions: [],
    });
    await world.signal(id, 'wf', { input: { who: 'you' } });
    const [first] = await ended(1);
    expect(first).toMatchObject({
      workflow: 'greet',
      state: 'SUCCESS',
      output: { said: 'hello you', region: 'r1' },
      stack: { id, name: 's' },
    });
    const listed = await eventually(async () => {
      const { executions: shown } = world.outputs(await world.show(id));
      return Array.isArray(shown) && shown.length === 1 ? shown : undefined;
    });
    expect(listed).toMatchObject([{ id: first?.id, workflow_name: 'greet' }]);
  });

  it('is updated in place, and deleted with its stack', async () => {
    const { id } = await world.createAndWait('s', { template: template('hello') });
    await world.updated(id, { template: template('goodbye') });
    await world.signal(id, 'wf', {});
    expect((await ended(1))[0]?.output).toMatchObject({ said: 'goodbye friend' });
    await world.remove(id);
    await world.settled(id);
    expect((await world.ask(workflowList, { project })).workflows).toEqual([]);
  });

  it('fails its creation with every mistake of the workflow', async () => {
    const wrong = template('x', '\n        on_success: [nowhere]').replace('std.echo', 'std.ecko');
    const { id } = await world.create('s', { template: wrong });
    const { status, failures } = await world.settled(id);
    expect(status).toBe('FAILED');
    expect(failures[0]?.failure.message).toMatch(/2 mistakes.*no action std\.ecko.*there is no task nowhere/s);
  });

  it('keeps a hidden parameter sealed on its way through an execution', async () => {
    const text = template('hello')
      .replace('{who: friend, times: 2}', '{who: {get_param: secret}, times: 2}')
      .replace("'hello <% $.who %>'", '<% $.who %>');
    const { id } = await world.createAndWait('s', { template: text });
    await world.signal(id, 'wf', {});
    const [first] = await ended(1);
    expect(first).toMatchObject({ state: 'SUCCESS', output: { said: '******' } });
    const shown = await world.ask(executionShow, { project, id: first?.id ?? '', tasks: true });
    expect(JSON.stringify(shown)).not.toContain('s3cret');
  });
});

describe('OS::Mistral::ExternalResource', () => {
  const text = `version: '2.0'
make: {input: [size], output: {resource_id: <% 'box-' + str($.size) %>, size: <% $.size %>}, tasks: {a: {wait-before: 1}}}
grow: {input: [size], output: {size: <% $.size %>, before: <% env().heat_extresource_data.size %>}, tasks: {a: {}}}
fall: {input: [size], tasks: {a: {action: std.fail}}}
`;
  const template = (size: number, update = 'grow') => `
heat_template_version: 2018-08-31
resources:
  box:
    type: OS::Mistral::ExternalResource
    properties:
      actions: {CREATE: {workflow: make}, UPDATE: {workflow: ${update}}, DELETE: {workflow: make}}
      input: {size: ${size}}
outputs: {ref: {value: {get_resource: box}}, out: {value: {get_attr: [box, output]}}}
`;

  it('runs the workflow of each action; its output is the attribute, and survives in the next run', async () => {
    await world.ask(workflowCreate, { project, text, replace: false });
    const { id } = await world.createAndWait('s', { template: template(1) });
    expect(world.outputs(await world.show(id))).toEqual({ ref: 'box-1', out: '{"resource_id":"box-1","size":1}' });
    await world.updated(id, { template: template(2) });
    const { out } = world.outputs(await world.show(id));
    expect(JSON.parse(out as string)).toEqual({ resource_id: 'box-1', size: 2, before: 1 });
    await world.remove(id);
    await world.settled(id);
    expect(await ended(3)).toHaveLength(3);
  });

  it('runs those of suspend and resume, with params, and describes its executions', async () => {
    const actions = `version: '2.0'
note: {output: {said: <% env().word %>}, tasks: {a: {}}}
`;
    await world.ask(workflowCreate, { project, text: actions, replace: false });
    const names = ['CREATE', 'UPDATE', 'SUSPEND', 'RESUME', 'DELETE'];
    const workflowOf = (name: string) => [name, { workflow: 'note', params: { env: { word: name.toLowerCase() } } }];
    const properties = { actions: Object.fromEntries(names.map(workflowOf)), input: {}, description: 'the box' };
    const resources = { box: { type: 'OS::Mistral::ExternalResource', properties } };
    const input = { template: JSON.stringify({ heat_template_version: '2018-08-31', resources }) };
    const { id } = await world.createAndWait('s', input);
    await world.act(id, { kind: 'suspend' });
    await world.complete(id);
    await world.act(id, { kind: 'resume' });
    await world.complete(id);
    const runs = await ended(3);
    const said = runs.map(({ output, description }) => JSON.stringify([(output as JsonObject)['said'], description]));
    const wanted = ['create', 'resume', 'suspend'].map((word) => JSON.stringify([word, 'the box']));
    expect(said.toSorted()).toEqual(wanted);
  });

  it('is replaced when an input changes that replace_on_change_inputs names, and refuses always_update', async () => {
    await world.ask(workflowCreate, { project, text, replace: false });
    const renewed = (size: number) => ({
      template: template(size).replace('input: {size', 'replace_on_change_inputs: [size]\n      input: {size'),
    });
    const { id } = await world.createAndWait('s', renewed(1));
    await world.updated(id, renewed(2));
    expect(world.outputs(await world.show(id))).toEqual({ ref: 'box-2', out: '{"resource_id":"box-2","size":2}' });
    const always = template(1).replace('input: {size', 'always_update: true\n      input: {size');
    const other = await world.create('t', { template: always });
    const { failures } = await world.settled(other.id);
    expect(failures[0]?.failure.message).toContain('always_update is not supported');
  });

  it('fails with the reason of its workflow', async () => {
    await world.ask(workflowCreate, { project, text, replace: false });
    const { id } = await world.createAndWait('s', { template: template(1, 'fall') });
    await world.update(id, { template: template(2, 'fall') });
    const { failures } = await world.settled(id);
    expect(failures[0]?.failure.message).toContain('The action std.fail always fails.');
  });
});

describe('Anneal::Workflow::EventTrigger', () => {
  it('starts a workflow for a waiting hook, once for each event, and the workflow clears the hook', async () => {
    const template = `
heat_template_version: 2018-08-31
resources:
  clear:
    type: OS::Mistral::Workflow
    properties:
      type: direct
      input: {stack: null, resource: null, hook: null}
      tasks:
      - {name: clear, action: anneal.hook_clear, input: {stack: <% $.stack %>, resource: <% $.resource %>, hook: <% $.hook %>}}
  trigger:
    type: Anneal::Workflow::EventTrigger
    properties:
      types: [resource.hook.waiting]
      match: {hook: pre-update}
      workflow: {get_resource: clear}
      input: {stack: <% $.data.stack_id %>, resource: <% $.data.resource_name %>, hook: <% $.data.hook %>}
`;
    await world.createAndWait('automation', { template });
    const guarded = (value: string) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::TestResource, properties: {value: ${value}}}
  b: {type: OS::Heat::TestResource, properties: {value: ${value}}}
`,
      environment: { resource_registry: { resources: { '*': { hooks: 'pre-update' } } } },
    });
    const { id } = await world.createAndWait('s', guarded('one'));
    await world.update(id, guarded('two'));
    await world.complete(id);
    const done = await ended(2);
    expect(done.map(({ state }) => state)).toEqual(['SUCCESS', 'SUCCESS']);
    expect(await world.events(id)).toContain('a UPDATE COMPLETE');
  });

  it('is named by why while its execution holds the hook, with the task at which it stands', async () => {
    const template = `
heat_template_version: 2018-08-31
resources:
  drain:
    type: OS::Mistral::Workflow
    properties:
      name: drain
      type: direct
      tasks:
      - {name: ask, action: std.noop, pause_before: true}
  trigger:
    type: Anneal::Workflow::EventTrigger
    properties:
      types: [resource.hook.waiting]
      match: {hook: pre-update}
      workflow: {get_resource: drain}
`;
    await world.createAndWait('automation', { template });
    const guarded = (value: string) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::TestResource, properties: {value: ${value}}}
`,
      environment: { resource_registry: { resources: { a: { hooks: 'pre-update' } } } },
    });
    const { id } = await world.createAndWait('s', guarded('one'));
    await world.update(id, guarded('two'));
    const held = await eventually(
      async () => {
        const found = await world.ask(stackWhy, { project, stack: id });
        return found.summary.includes('PAUSED') ? found : undefined;
      },
      { what: 'the execution that holds the hook' },
    );
    const [execution] = await executions();
    expect(held.summary).toMatch(
      /^a is held at hook "pre-update"\. Execution \S+ of workflow drain is PAUSED: task ask/,
    );
    expect(held.chain.map(({ object }) => object).slice(-3)).toEqual([
      'hook pre-update',
      `execution ${execution?.id} of workflow drain`,
      'task ask (std.noop)',
    ]);
    expect(held.exits).toEqual([
      `anneal workflow resume ${execution?.id}`,
      `anneal workflow tasks ${execution?.id}`,
      `anneal workflow cancel ${execution?.id}`,
      'anneal hook clear s a pre-update',
    ]);
  });
});
