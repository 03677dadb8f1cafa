import { describe, expect, it } from 'vitest';
import { defaultEvaluation } from '../limits.ts';
import { workflowEvaluation } from './expression.ts';
import { parseActions } from './ad-hoc.ts';
import { parseWorkflows, workflowFrom } from './parse.ts';

const mistakesOf = (text: string) => {
  const parsed = parseWorkflows(text);
  return parsed.ok ? [] : parsed.mistakes.map(({ path, line, message }) => ({ path, line, message }));
};
/** The mistakes of a workflow with these lines under `tasks:`. */
const ofTasks = (...lines: string[]) =>
  mistakesOf(["version: '2.0'", 'w:', '  tasks:', ...lines.map((line) => `    ${line}`)].join('\n'));

describe('a workflow text', () => {
  it('gives each workflow with its tasks in order, their clauses and the defaults', () => {
    const parsed = parseWorkflows(`
version: '2.0'
move:
  input: [host, {tries: 3}]
  task-defaults: {on-error: [clean], retry: count=2 delay=1}
  tasks:
    drain:
      action: std.echo output=<% $.host %>
      publish: {drained: <% task().result %>}
      on-success:
        publish: {global: {seen: true}}
        next: [check, {clean: <% $.tries > 3 %>}]
    check: {join: all, on-error: 'fail msg="not moved"'}
    clean: {action: std.noop}
`);
    expect(parsed).toMatchObject({
      ok: true,
      workflows: [
        {
          name: 'move',
          input: [
            { name: 'host', required: true },
            { name: 'tries', required: false, default: 3 },
          ],
          tasks: [
            {
              name: 'drain',
              action: 'std.echo',
              input: { output: '<% $.host %>' },
              retry: { count: 2, delay: 1 },
              on_success: {
                publish: { global: { seen: true } },
                next: [
                  { to: 'check', guard: null },
                  { to: 'clean', guard: '<% $.tries > 3 %>' },
                ],
              },
              on_error: { next: [{ to: 'clean' }] },
            },
            { name: 'check', join: 'all', on_error: { next: [{ to: 'fail', message: 'not moved' }] } },
            // The defaults never make a task its own successor.
            { name: 'clean', action: 'std.noop', on_error: { next: [] } },
          ],
        },
      ],
    });
  });

  it('names every mistake at once, each with its path and line', () => {
    const found = mistakesOf(`version: '2.0'
w:
  typ: direct
  input: {a: 1}
  tasks:
    one:
      action: std.ecko
      workflow: other
      on-success: [two, thre]
      wait-before: -1
    two: {join: 3}
`);
    expect(found.map(({ path, line }) => `${path}:${line}`)).toEqual([
      'typ:3',
      'input:4',
      'tasks.one:7',
      'tasks.one.wait-before:10',
      'tasks.one.on-success:9',
      'tasks.two.join:11',
    ]);
    expect(found[0]?.message).toContain('did you mean type?');
    expect(found[4]?.message).toContain('there is no task thre');
  });

  it.each([
    [['a: {on-success: b}', 'b: {on-success: a}'], 'no task can start'],
    [['a: {action: std.eco}'], 'there is no action std.eco'],
    [['a: {action: std.echo}'], 'std.echo needs the input output'],
    [['a: {action: std.echo output=1 outputs=2}'], 'std.echo has no input outputs'],
    [['a: {on-success: {b: true}}', 'b: {}'], 'the guard must be an expression'],
    [['a: {publish: {x: <% $.( %>}}'], 'cannot be read'],
    [['a: {publish: {x: "{{ _.x }}"}}'], 'uses Jinja'],
    [['a: {join: all}', 'b: {}'], 'it never runs'],
    [['a: {on-success: b}', 'b: {join: "0"}'], 'must be all, one'],
    [['a: {with-items: i of 3}'], 'must be `name in'],
    [['a: {concurrency: 3}'], 'needs with-items'],
    [['a: {retry: {count: 1}}'], 'needs delay'],
    [['a: {retry: count=1 delay=1 break-on=true}'], 'must be an expression'],
    [['a: {requires: b}', 'b: {}'], 'not a key of a task in a direct workflow'],
    [['a: {on-success: b msg="x"}', 'b: {}'], 'only a command takes a text'],
    [['a: {on-success: {publish: {atomic: {x: 1}}}}'], 'has no effect in Mistral'],
    [['"a b": {}'], 'a task name has'],
    [['a: {target: host1}'], 'no executor has a name here; std.script names its host'],
    [['a: {safe-rerun: false}'], 'safe-rerun: must be true, because a request is repeated after a crash'],
    [['a: {action: std.ssh cmd=ls host=h}'], 'std.ssh is not served: Anneal holds no SSH keys; use std.script'],
    [['a: {action: anneal.node_power node=n target=on}'], 'target must be power on, power off, rebooting'],
    [['a: {action: anneal.node_maintenance node=n maintenance=1}'], 'maintenance must be true or false, not 1'],
    [['a: {action: anneal.queue_post queue=q body=1 ttl=0}'], 'ttl must be an integer above 0, not 0'],
    [['a: {action: std.script host=h script=s input=5}'], 'input must be a map, not 5'],
    [['a: {action: std.email to_addrs=a@b subject=s smtp_server=m}'], 'the operator names the SMTP server'],
    [['a: {action: anneal.stack_create stack=s}'], 'anneal.stack_create needs the input template'],
    [['a: {action: std.js script=x}'], 'std.js is not served: workflows run no code'],
    [['a: {action: nova.servers_list}'], 'nova.servers_list is not served: clients of OpenStack'],
  ])('refuses %j: %s', (lines, message) => {
    expect(ofTasks(...lines).map((each) => each.message)).toEqual([expect.stringContaining(message)]);
  });

  it('accepts safe-rerun: true, because every action is repeated after a crash', () => {
    expect(ofTasks('a: {safe-rerun: true}')).toEqual([]);
  });

  it('gives the workflows of a workbook with its name in front, and the lines of their mistakes', () => {
    const book = (task: string) =>
      `version: '2.0'\nname: ops\nworkflows:\n  move:\n    tasks:\n      a: {${task}}\n  other: {tasks: {b: {workflow: move}}}\n`;
    const parsed = parseWorkflows(book('action: std.noop'));
    expect(parsed.ok && parsed.workflows.map(({ name }) => name)).toEqual(['ops.move', 'ops.other']);
    expect(mistakesOf(book('action: std.nop'))).toMatchObject([{ path: 'tasks.a.action', line: 6 }]);
    expect(mistakesOf(`${book('')}actions: {x: {base: std.ecko}}\nextra: 1\n`)).toMatchObject([
      { path: 'extra' },
      { path: 'actions.x.base', line: 8, message: expect.stringContaining('there is no action std.ecko') as unknown },
    ]);
  });

  it('takes the actions of a workbook into the tasks that call them, by short or full name', () => {
    const parsed = parseWorkflows(`version: '2.0'
name: ops
actions:
  say: {base: std.echo, input: [word], base-input: {output: <% $.word %>}}
  twice: {base: say, input: [word], base-input: {word: <% $.word + $.word %>}}
workflows:
  w: {tasks: {a: {action: twice word=x}, b: {action: ops.say word=y}}}
`);
    const tasks = parsed.ok ? (parsed.workflows[0]?.tasks ?? []) : [];
    expect(tasks.map(({ action, through }) => [action, through?.map(({ name }) => name)])).toEqual([
      ['std.echo', ['ops.twice', 'ops.say']],
      ['std.echo', ['ops.say']],
    ]);
    expect(parsed.ok && parsed.actions.map(({ name, base }) => [name, base])).toEqual([
      ['ops.say', 'std.echo'],
      ['ops.twice', 'ops.say'],
    ]);
  });

  it('refuses reverse workflows whose tasks require each other in a circle', () => {
    const tasks = { a: { requires: ['b'] }, b: { requires: 'c' }, c: { requires: ['a'] } };
    const parsed = workflowFrom('w', { type: 'reverse', tasks });
    expect(parsed.ok ? [] : parsed.mistakes.map(({ message }) => message)).toEqual([
      expect.stringContaining('a → b → c → a'),
    ]);
  });
});

it('names the line where a text ends too early, and what it reads', () => {
  expect(mistakesOf("version: '2.0'\nw:\n  tasks:\n    a: {action: std.echo output=1\n    b: {}\n")).toMatchObject([
    { line: 5, message: expect.stringMatching(/^Error parsing workflows: did not find expected/) as unknown },
  ]);
});

describe('ad hoc actions', () => {
  const mistakesIn = (lines: string) => {
    const parsed = parseActions(`version: '2.0'\n${lines}`, new Map());
    return parsed.ok ? [] : parsed.mistakes;
  };

  it.each([
    ['a: {base-input: {output: 1}}', 'a.base', 'needs base'],
    ['a: {base: std.echo}', 'a', 'std.echo needs the input output'],
    ['a: {base: std.echo, base-input: {outputs: 1}}', 'a', 'std.echo has no input outputs'],
    ['a: {base: b}\nb: {base: a}', 'a', 'calls itself'],
    ['a: {base: std.ecko, base-input: {output: 1}}', 'a', 'did you mean std.echo?'],
    ['a: {base: std.noop, output: <% $.( %>}', 'a', 'cannot be read'],
    ['std.echo: {base: std.noop}', 'std.echo', 'is the name of an action of the catalogue'],
    ['"a b": {base: std.noop}', 'a b', 'an action name has'],
    ['a: {base: std.noop, inputs: [x]}', 'a', 'did you mean input?'],
    ['a: 5', 'a', 'must be a map with the key base'],
  ])('refuses %j', (lines, _path, message) => {
    expect(mistakesIn(lines).map((each) => each.message)).toContainEqual(expect.stringContaining(message));
    for (const { line } of mistakesIn(lines)) expect(line).toBeGreaterThanOrEqual(1);
  });

  it('checks the input of a task that calls one', () => {
    const parsed = parseActions(
      "version: '2.0'\nsay: {base: std.echo, input: [who, {n: 1}], base-input: {output: <% $.who %>}}",
      new Map(),
    );
    const known = new Map(parsed.ok ? parsed.actions.map((action) => [action.name, action]) : []);
    const wrong = parseWorkflows("version: '2.0'\nw: {tasks: {a: {action: say whom=x}}}", known);
    expect(wrong.ok ? [] : wrong.mistakes.map(({ message }) => message)).toEqual([
      expect.stringContaining('say has no input whom; its inputs are who, n'),
      expect.stringContaining('say needs the input who'),
    ]);
  });
});

describe('an expression', () => {
  const scope = {
    data: { a: { b: [1, 2] }, name: 'x' },
    env: { region: 'r' },
    execution: { id: 'e' },
    globals: { g: 7 },
    task: (name: string | undefined) => ({ name: name ?? 'current', result: [1] }),
  };
  const valueOf = (value: string) => workflowEvaluation(defaultEvaluation)(value, scope);

  it('keeps its type when it is the whole text, and is text among other text', () => {
    expect(valueOf('<% $.a.b %>')).toEqual({ ok: true, value: [1, 2] });
    expect(valueOf('n=<% $.a.b.sum() %> <% $.name %>')).toEqual({ ok: true, value: 'n=3 x' });
  });

  it('reads tasks, environment, globals and the execution', () => {
    expect(valueOf('<% [task().name, task(b).result, env().region, global(g), execution().id] %>')).toEqual({
      ok: true,
      value: ['current', [1], 'r', 7, 'e'],
    });
  });

  it('names the expression that fails, and ends one that takes too much work', () => {
    expect(valueOf('<% $.missing %>')).toMatchObject({ ok: false, expression: '$.missing' });
    expect(valueOf('<% range(0, 9000).select(range(0, 9000).sum()).sum() %>')).toMatchObject({
      ok: false,
      message:
        'takes too much work: one value of a workflow may make 50000 values (a hundredth of ANNEAL_EVALUATION_WORK, 5000000)',
    });
  });

  it('takes more than a template, and still more when the operator raises the limits', () => {
    const long = '<% range(0, 12000) %>';
    expect(valueOf('<% range(0, 2000).toList().len() %>')).toEqual({ ok: true, value: 2000 });
    const work = 50_000_000;
    expect(workflowEvaluation({ ...defaultEvaluation, work })(long, scope)).toMatchObject({
      message: 'Collection length exceeds 10000 elements (the limit is ANNEAL_YAQL_LIMIT_ITERATORS)',
    });
    const raised = workflowEvaluation({ elements: 20_000, memory: -1, work })(long, scope);
    expect(raised).toMatchObject({ ok: true });
  });
});
