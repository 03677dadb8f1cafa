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

/** The words after each command that is served, in an order in which each finds what it needs. */
const served = (files: string, { waiting, failed, ended }: Record<string, string>): Record<string, string> => ({
  'workflow validate': `${files}/book.yaml`,
  'workflow create': `${files}/book.yaml`,
  'workflow list': '--filter name=every.ask',
  'workflow show': 'every.ask',
  'workflow definition show': 'every.ask',
  'workflow update': `${files}/book.yaml`,
  'workflow env create': `${files}/environment.json`,
  'workflow env list': '',
  'workflow env show': 'some',
  'workflow env update': `${files}/environment.json`,
  'workflow env delete': 'some',
  'action definition create': `${files}/action.yaml`,
  'action definition list': '--filter name=greet',
  'action definition show': 'greet',
  'action definition definition show': 'greet',
  'action definition update': `${files}/action.yaml`,
  'action definition delete': 'greet',
  'cron trigger create': 'daily every.ask --first-time 2999-01-01\\ 00:00',
  'cron trigger list': '',
  'cron trigger show': 'daily',
  'cron trigger delete': 'daily',
  'workflow execution create': 'every.ask',
  'workflow execution list': '--filter state=ERROR',
  'workflow execution update': `${waiting} -s PAUSED`,
  'task execution list': `${waiting}`,
  'task execution show': `${waiting}.1`,
  'task execution result show': `${waiting}.1`,
  'task execution published show': `${waiting}.1`,
  'action execution list': `${waiting}.1`,
  'action execution show': `${waiting}.1.1.0`,
  'action execution input show': `${waiting}.1.1.0`,
  'action execution output show': `${waiting}.1.1.0`,
  'action execution update': `${waiting}.1.1.0 --state SUCCESS --output 1`,
  'task execution rerun': `${failed}.1`,
  'workflow execution show': `${ended}`,
  'workflow execution input show': `${ended}`,
  'workflow execution output show': `${ended}`,
  'workflow execution published show': `${ended}`,
  'workflow execution report show': `${ended}`,
  'workflow execution delete': `${ended}`,
  'workflow delete': 'every.ask every.fall',
  'workbook validate': `${files}/book.yaml`,
});

/** The commands that are refused: the words after each, and the alternative that the refusal names. */
const refused = (file: string): Record<string, readonly [words: string, alternative: string]> => {
  const [book, member, code, trigger] = [
    'accepts the text of a workbook',
    'each project has its own workflows',
    'define an ad hoc action, or use std.script',
    'Anneal::Workflow::EventTrigger',
  ];
  return {
    'workbook create': [file, book],
    'workbook definition show': ['every', book],
    'workbook delete': ['every', book],
    'workbook list': ['', book],
    'workbook show': ['every', book],
    'workbook update': [file, book],
    'resource member create': ['x workflow y', member],
    'resource member delete': ['x workflow y', member],
    'resource member list': ['x workflow', member],
    'resource member show': ['x workflow -m y', member],
    'resource member update': ['x workflow -m y', member],
    'code source content show': ['x', code],
    'code source create': [`x ${file}`, code],
    'code source delete': ['x', code],
    'code source list': ['', code],
    'code source show': ['x', code],
    'code source update': [`x ${file}`, code],
    'dynamic action create': ['x y z', code],
    'dynamic action delete': ['x', code],
    'dynamic action list': ['', code],
    'dynamic action show': ['x', code],
    'dynamic action update': ['x', code],
    'event trigger create': ['x y exchange topic event', trigger],
    'event trigger delete': ['x', trigger],
    'event trigger list': ['', trigger],
    'event trigger show': ['x', trigger],
    'action execution delete': ['x', 'deleted with its workflow execution'],
    'action execution run': ['std.noop', 'store a workflow with one task'],
  };
};

// A space that belongs to a word is behind a backslash.
const split = (text: string): string[] => (text.match(/(?:\\ |\S)+/g) ?? []).map((word) => word.replace('\\', ''));

it('refuse each command of what is not served, with the alternative', async () => {
  await writeFile(join(clients.directory, 'any.yaml'), "version: '2.0'\n");
  for (const [command, [words, alternative]] of Object.entries(refused(join(clients.directory, 'any.yaml')))) {
    const { status, stdout, stderr } = await openstack(...split(command), ...split(words));
    // A deletion prints the reason of each on standard output.
    expect([command, status, `${stdout}${stderr}`]).toEqual([command, 1, expect.stringContaining(alternative)]);
  }
});

it('run each other command of the client', async () => {
  const files = clients.directory;
  const book = `version: '2.0'
name: every
workflows:
  ask: { tasks: { a: { action: std.async_noop } } }
  fall: { tasks: { a: { action: std.fail } } }
`;
  await writeFile(join(files, 'book.yaml'), book);
  await writeFile(join(files, 'environment.json'), '{"name": "some", "variables": {"a": 1}}');
  await writeFile(
    join(files, 'action.yaml'),
    "version: '2.0'\ngreet: { base: std.echo, base-input: { output: hello } }\n",
  );
  const { workflows, executions } = clients.server.client;
  await workflows.create({ text: book.replace('every', 'before'), replace: false });
  const start = async (workflow: string, state: string): Promise<string> => {
    const { id } = await executions.start({ workflow, input: {} });
    await eventually(async () => {
      const { execution, tasks } = await executions.show({ id });
      return execution.state === state && tasks.length === 1 ? true : undefined;
    });
    return id;
  };
  const [waiting, failed, ended] = [
    await start('before.ask', 'RUNNING'),
    await start('before.fall', 'ERROR'),
    await start('before.fall', 'ERROR'),
  ];
  const works = served(files, { waiting, failed, ended });
  const [group] = await rows('command', 'list', '--group', 'openstack.workflow_engine.v2');
  expect([...Object.keys(works), ...Object.keys(refused(''))].toSorted()).toEqual(group?.['Commands']);
  for (const [command, words] of Object.entries(works)) await ok(...split(command), ...split(words));
});
