/** Tests the API of workflows with the OpenStack clients from PyPI. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { useOpenstackClients, type ClientRow } from './clients.ts';

const clients = useOpenstackClients({ lab: 1 });
const { openstack, ok, rows, row } = clients;

it('store a workflow, start it, follow, repair, complete and delete its executions', async () => {
  const file = join(clients.directory, 'flow.yaml');
  const text = `version: '2.0'
flow:
  input: [who, { n: 1 }]
  output: { said: <% $.said %>, answer: <% $.answer %> }
  tasks:
    say: { action: std.echo output='hello <% $.who %>', publish: { said: <% task().result %> }, on-success: ask }
    ask: { action: std.async_noop, publish: { answer: <% task().result %> } }
broken: { tasks: { a: { action: std.fail } } }
`;
  await writeFile(file, text);
  const made = await rows('workflow', 'create', file);
  expect(made.map((each) => [each['Name'], each['Input']])).toEqual([
    ['flow', 'who, n=1'],
    ['broken', ''],
  ]);
  await writeFile(file, text.replace('std.echo', 'std.ecko'));
  const wrong = await openstack('workflow', 'update', file);
  expect(wrong).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('there is no action std.ecko') as unknown,
  });
  const idOf = (found: ClientRow): string => found['ID'] as string;
  const id = idOf(await row('workflow', 'execution', 'create', 'flow', '{"who": "you"}'));
  const tasks = await eventually(async () => {
    const found = await rows('task', 'execution', 'list', id);
    return found.some((each) => each['Name'] === 'ask' && each['State'] === 'RUNNING') ? found : undefined;
  });
  const ask = idOf(tasks.find((each) => each['Name'] === 'ask') ?? {});
  await ok('action', 'execution', 'update', '--state', 'SUCCESS', '--output', '"yes"', `${ask}.1.0`);
  const output = JSON.parse(await ok('workflow', 'execution', 'output', 'show', id)) as ClientRow;
  expect(output).toEqual({ said: 'hello you', answer: 'yes' });
  const broken = idOf(await row('workflow', 'execution', 'create', 'broken'));
  const failed = await eventually(async () => {
    const found = await rows('workflow', 'execution', 'list', '--filter', 'state=ERROR');
    return found[0]?.['ID'] === broken ? found : undefined;
  });
  expect(failed[0]).toMatchObject({ ID: broken, 'Workflow name': 'broken' });
  await ok('task', 'execution', 'rerun', `${broken}.1`);
  await ok('workflow', 'execution', 'delete', id);
  const cron = await row(
    'cron',
    'trigger',
    'create',
    'c',
    'flow',
    '{"who": "x"}',
    '--pattern',
    '0 0 * * *',
    '--count',
    '2',
  );
  expect(cron).toMatchObject({ Workflow: 'flow', 'Remaining executions': 2 });
  expect(await rows('cron', 'trigger', 'list')).toHaveLength(1);
  await ok('cron', 'trigger', 'delete', 'c');
  await ok('workflow', 'delete', 'flow', 'broken');
  // The client shows an empty list as one row without values.
  expect((await rows('workflow', 'list')).map((each) => each['ID'])).toEqual(['']);
});

it('use ad hoc actions and environments, follow actions and sub-workflows, and name what is not served', async () => {
  const { listed, refused, statistics, ...seen } = await clients.program(
    'workflow-client.py',
    `${clients.server.url}/identity/v3`,
    clients.password,
  );
  expect(seen).toEqual({
    created: [['greet', 'who', false]],
    repeated: expect.stringContaining('exist already: greet') as unknown,
    definition: true,
    wrong_action: {
      valid: false,
      error: expect.stringContaining('line 2: base: there is no action std.ecko') as unknown,
    },
    valid: { valid: true, error: null },
    environments: [['e', { who: 'you' }, 'd']],
    execution: ['SUCCESS', { said: 'hi you' }, { g: 1 }],
    tree: [
      ['a', 'SUCCESS', ['inner']],
      ['b', 'SUCCESS', []],
    ],
    tree_of_errors: [],
    below: ['outer', 'inner'],
    below_task: ['inner'],
    action: [true, 'std.echo', 'SUCCESS'],
    output: { result: 1 },
    left: [[], []],
  });
  expect(statistics).toMatchObject({ total_tasks_count: 3, success_tasks_count: 3, error_tasks_count: 0 });
  expect(listed).toEqual(expect.arrayContaining(['std.echo', 'anneal.stack_create', 'greet']));
  expect(refused).toEqual(
    [
      'store a workflow with one task',
      'deleted with its workflow execution',
      'openstack action execution list TASK',
      'openstack task execution list EXECUTION',
      'it is an action of the catalogue',
      'accepts the text of a workbook',
      'Anneal::Workflow::EventTrigger',
      'run no code of clients',
      'run no code of clients',
      'each project has its own workflows',
    ].map((reason) => expect.stringContaining(reason) as unknown),
  );
});
