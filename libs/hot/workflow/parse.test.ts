import { describe, expect, it } from 'vitest';
import { evaluateInWorkflow } from './expression.ts';
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
  ])('refuses %j: %s', (lines, message) => {
    expect(ofTasks(...lines).map((each) => each.message)).toEqual([expect.stringContaining(message)]);
  });

  it('refuses reverse workflows whose tasks require each other in a circle', () => {
    const tasks = { a: { requires: ['b'] }, b: { requires: 'c' }, c: { requires: ['a'] } };
    const parsed = workflowFrom('w', { type: 'reverse', tasks });
    expect(parsed.ok ? [] : parsed.mistakes.map(({ message }) => message)).toEqual([
      expect.stringContaining('a → b → c → a'),
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
  const valueOf = (value: string) => evaluateInWorkflow(value, scope);

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
      message: expect.stringContaining('too much work: one value') as unknown,
    });
  });
});
