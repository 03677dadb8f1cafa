/** Workflows on a whole server, which is killed while executions run. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from './server.ts';
import {
  eachFormEnds,
  endedExecution,
  faultsAfterHarm,
  openWorkflowWorld,
  runEachForm,
  workflowServerEnvironment,
  type WorkflowWorld,
} from './workflow-scenarios.ts';

let server: TestServer;
let world: WorkflowWorld;
beforeAll(async () => {
  server = await startServer({ lab: 2, env: workflowServerEnvironment });
  world = await openWorkflowWorld(server, join(server.data, 'trace'));
});
afterAll(async () => {
  await world?.listener.close();
  await server?.dispose();
});

it('run every form of task', async () => {
  expect(await runEachForm(world)).toEqual(eachFormEnds);
});

const automation = `version: '2.0'
automation:
  input: [template, machine, subscription]
  output: {first: <% $.first %>, second: <% $.second %>, held: <% $.held %>, free: <% $.free %>, status: <% $.status %>, tested: <% $.tested %>, mail: <% $.mail %>}
  tasks:
    create: {action: anneal.stack_create, input: {stack: made, template: <% $.template %>, parameters: {word: one}, tags: [auto]}, on-success: created}
    created:
      action: anneal.stack_show stack=made
      retry: {count: 60, delay: 1, continue-on: <% task().result.status = IN_PROGRESS %>}
      publish: {first: <% task().result.outputs.said %>}
      on-success: update
    update: {action: anneal.stack_update stack=made, input: {parameters: {word: two}}, on-success: updated}
    updated:
      action: anneal.stack_show stack=made
      retry: {count: 60, delay: 1, continue-on: <% task().result.status = IN_PROGRESS %>}
      publish: {second: <% task().result.outputs.said %>}
      on-success: remove
    remove: {action: anneal.stack_delete stack=made}
    hold: {action: anneal.node_maintenance, input: {node: <% $.machine %>, maintenance: true, reason: tests}, publish: {held: <% task().result.maintenance %>}, on-success: release}
    release: {action: anneal.node_maintenance, input: {node: <% $.machine %>, maintenance: false}, publish: {free: <% task().result.maintenance %>}, on-success: power}
    power: {action: anneal.node_power, input: {node: <% $.machine %>, target: power off}, on-success: is_off}
    is_off:
      action: anneal.node_show node=<% $.machine %>
      retry: {count: 60, delay: 1, continue-on: <% task().result.target_power_state != null %>}
      on-success: manage
    manage: {action: anneal.node_provision, input: {node: <% $.machine %>, target: manage}, on-success: managed}
    managed:
      action: anneal.node_show node=<% $.machine %>
      retry: {count: 60, delay: 1, continue-on: <% task().result.provision_state != manageable %>}
      on-success: provide
    provide: {action: anneal.node_provision, input: {node: <% $.machine %>, target: provide}}
    pause: {action: anneal.subscription_act subscription=<% $.subscription %> verb=pause, publish: {status: <% task().result.status %>}, on-success: resume}
    resume: {action: anneal.subscription_act subscription=<% $.subscription %> verb=resume, on-success: test}
    test: {action: anneal.subscription_test subscription=<% $.subscription %>, publish: {tested: <% task().result.status %>}}
    mail: {action: std.email, input: {to_addrs: a@ops.example, subject: s}, publish-on-error: {mail: <% task().result %>}, on-error: noop}
`;

it('act on stacks, nodes and subscriptions', async () => {
  const { client } = server;
  await client.workflows.create({ text: automation, replace: false });
  const { subscription } = await client.subscriptions.create({
    name: 'listener',
    url: world.listener.url,
    types: ['host.up'],
  });
  const template = {
    heat_template_version: '2018-08-31',
    parameters: { word: { type: 'string' } },
    resources: { a: { type: 'OS::Heat::TestResource', properties: { value: { get_param: 'word' } } } },
    outputs: { said: { value: { get_attr: ['a', 'output'] } } },
  };
  const nodes = await client.nodes.list();
  const free = nodes.find(({ provision_state: state }) => state === 'available');
  const input = { template, machine: free?.name ?? '', subscription: subscription.id };
  const started = await client.executions.start({ workflow: 'automation', input });
  const { state, reason, output } = await endedExecution(world, started.id, 120_000);
  expect({ state, reason }).toEqual({ state: 'SUCCESS', reason: null });
  expect(output).toEqual({
    first: 'one',
    second: 'two',
    held: true,
    free: false,
    status: 'paused',
    tested: 200,
    mail: expect.stringContaining('ANNEAL_NOTIFICATION_SMTP_URL') as unknown,
  });
});

it('end after a kill of the server, and nothing of them runs twice', async () => {
  const harm = async (): Promise<void> => {
    await server.kill();
    await server.start();
  };
  expect(await faultsAfterHarm(world, { count: 12, after: 4, harm, within: 120_000 })).toEqual([]);
});
