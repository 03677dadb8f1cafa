import { itemCounts } from '@anneal/convergence/workflow/pages.ts';
import { describe, expect, it } from 'vitest';
import { ExecutionDriver, workflowText } from './testing/driver.ts';

const open = (tasks: string, given: ConstructorParameters<typeof ExecutionDriver>[1] & { head?: string } = {}) =>
  new ExecutionDriver(workflowText(`${given.head ?? ''}  tasks:\n${tasks}`), given);
const signal = 'action: anneal.stack_show stack=s';

describe('a direct workflow', () => {
  it('starts all tasks without an inbound link together, and passes published values on', () => {
    const run = open(`
    a: {${signal}, publish: {x: <% task().result.n %>}, on-success: c}
    b: {${signal}, on-success: c}
    c: {join: all, action: std.echo output=<% $.x + 1 %>, publish: {y: <% task().result %>}}
`);
    expect(run.running()).toEqual(['a', 'b']);
    run.end('b');
    expect(run.states()).toEqual(['a:RUNNING', 'b:SUCCESS', 'c:WAITING']);
    run.end('a', { n: 4 });
    expect(run.execution).toMatchObject({ state: 'SUCCESS', output: { x: 4, y: 5 } });
    expect(run.events.map(({ type, task }) => `${type} ${task?.name ?? ''}`.trim())).toEqual([
      'workflow.started',
      'task.started a',
      'task.started b',
      'task.completed b',
      'task.completed a',
      'task.started c',
      'task.completed c',
      'workflow.completed',
    ]);
  });

  it('takes every link whose guard holds', () => {
    const run = open(
      `
    a: {on-success: [{b: <% $.n > 1 %>}, {c: <% $.n > 2 %>}, {d: <% $.n > 3 %>}]}
    b: {}
    c: {}
    d: {}
`,
      { head: '  input: [n]\n', input: { n: 3 } },
    );
    expect(run.states()).toEqual(['a:SUCCESS', 'b:SUCCESS', 'c:SUCCESS']);
  });

  it('runs a task without join once for each link', () => {
    const run = open(`
    a: {on-success: c}
    b: {on-success: c}
    c: {}
`);
    expect(run.runs('c')).toHaveLength(2);
  });

  it('ends in ERROR when an error is not handled, after the other branches have ended', () => {
    const run = open(`
    a: {${signal}, on-complete: c}
    b: {${signal}}
    c: {}
`);
    run.fail('a', 'no disk');
    expect(run.execution.state).toBe('RUNNING');
    run.end('b');
    expect(run.states()).toEqual(['a:ERROR', 'b:SUCCESS', 'c:SUCCESS']);
    expect(run.execution).toMatchObject({
      state: 'ERROR',
      reason: 'Failed tasks: a: no disk',
      output: { result: 'Failed tasks: a: no disk' },
    });
  });

  it('handles an error by on-error, also when that is only noop', () => {
    const run = open(`
    a: {${signal}, publish-on-error: {why: <% task().result %>}, on-error: noop}
`);
    run.fail('a', 'no disk');
    expect(run.execution).toMatchObject({ state: 'SUCCESS', output: { why: 'no disk' } });
  });

  it('lets on-error handle a wrong expression, which it names with its key', () => {
    const run = open(`
    a: {publish: {x: <% $.missing %>}, on-error: b}
    b: {action: std.echo output=<% task(a).result %>, publish: {why: <% task().result %>}}
`);
    expect(run.execution).toMatchObject({
      state: 'SUCCESS',
      output: { why: "publish: <% $.missing %>: KeyError: 'missing'" },
    });
  });

  it('fails at once by the command fail with its text, and stops what still runs', () => {
    const run = open(
      `
    a: {${signal}}
    b: {${signal}, on-success: 'fail(msg="stop <% $.n %>")'}
`,
      { head: '  input: [n]\n  output-on-error: {n: <% $.n %>}\n', input: { n: 3 } },
    );
    run.end('b');
    expect(run.execution).toMatchObject({ state: 'ERROR', reason: 'stop 3', output: { n: 3, result: 'stop 3' } });
    expect(run.stopped).toEqual(['e.1.1.0']);
    run.deliver({ action: 'e.1.1.0', ok: true, result: null, reason: null });
    expect(run.states()).toEqual(['a:CANCELLED', 'b:SUCCESS']);
  });

  it('lets the clause of the outcome win over publish, and publish over on-complete', () => {
    const run = open(`
    a:
      publish: {x: plain, y: plain}
      on-success: {publish: {branch: {x: specific}, global: {g: 1}}, next: noop}
      on-complete: {publish: {branch: {x: late, y: late, z: late}, global: {h: 2}}}
    b: {}
`);
    expect(run.execution.output).toEqual({ x: 'specific', y: 'plain', z: 'late' });
    expect(run.execution.globals).toEqual({ g: 1, h: 2 });
  });

  it('ends a loop at its limit of task runs, in several steps', () => {
    const run = open(`
    first: {on-success: a}
    a: {on-success: b}
    b: {on-success: a}
`);
    expect(run.execution.state).toBe('ERROR');
    expect(run.execution.reason).toContain('2000 tasks');
    expect(run.state.tasks.size).toBe(2000);
    expect(run.steps).toBeGreaterThan(35);
  });
});

describe('a join', () => {
  const joined = (join: string, more = '') => `
    a: {${signal}, publish: {m: {a: 1}, last: a}, on-success: j}
    b: {${signal}, publish: {m: {b: 2}, last: b}, on-success: j}
    c: {${signal}, on-success: j${more}}
    j: {join: ${join}, ${signal}}
`;

  it('merges maps, and the value that was published last wins', () => {
    const run = open(joined('all'));
    run.end('b');
    run.end('a');
    run.end('c');
    run.end('j');
    expect(run.execution.output).toEqual({ m: { a: 1, b: 2 }, last: 'a' });
  });

  it('runs once: a link that comes after it began changes nothing', () => {
    const run = open(joined('one'));
    run.end('a');
    run.end('j');
    run.end('b');
    run.end('c');
    expect(run.runs('j')).toHaveLength(1);
    expect(run.execution.state).toBe('SUCCESS');
  });

  it('fails as soon as its number cannot be reached, and its on-error handles that', () => {
    const run = open(joined('2, on-error: noop', ', on-error: noop'));
    run.end('a');
    run.fail('b');
    expect(run.runs('j')[0]?.state).toBe('WAITING');
    run.fail('c');
    expect(run.runs('j')[0]).toMatchObject({ state: 'ERROR', handled: true, reason: "Failed by tasks: ['b', 'c']" });
    expect(run.execution.reason).toBe('Failed tasks: b: broken');
  });

  it('waits for a task that a live branch can still reach', () => {
    const run = open(`
    a: {on-success: j}
    b: {${signal}, on-error: retrying}
    retrying: {${signal}, on-success: c}
    c: {${signal}, on-success: j}
    j: {join: all}
`);
    run.fail('b');
    run.end('retrying');
    expect(run.runs('j')[0]?.state).toBe('WAITING');
    run.end('c');
    expect(run.execution.state).toBe('SUCCESS');
  });

  it('obeys wait-before and timeout like other tasks', () => {
    const run = open(`
    a: {on-success: j}
    j: {join: all, wait-before: 5, timeout: 7, ${signal}}
`);
    expect(run.states()).toEqual(['a:SUCCESS', 'j:DELAYED']);
    run.fire();
    expect(run.running()).toEqual(['j']);
    run.fire();
    expect(run.time).toBe(12);
    expect(run.execution.reason).toBe('Failed tasks: j: Task timed out [timeout(s)=7].');
    expect(run.stopped).toEqual(['e.2.1.0']);
  });

  it('fails when joins only wait for each other', () => {
    const run = open(`
    a: {on-success: [x, y]}
    x: {join: all, on-success: y}
    y: {join: all, on-success: x}
`);
    expect(run.execution.state).toBe('ERROR');
    expect(run.execution.reason).toContain('The joins wait for each other: x, y');
  });
});

describe('a retry', () => {
  it('repeats after the delay, at most count times, each attempt with an id of its own', () => {
    const run = open(`
    a: {${signal}, retry: count=2 delay=10}
`);
    run.fail('a');
    run.fire();
    expect(run.time).toBe(10);
    run.fail('a');
    run.fire();
    run.fail('a', 'at last');
    expect(run.called.map(({ id }) => id)).toEqual(['e.1.1.0', 'e.1.2.0', 'e.1.3.0']);
    expect(run.execution).toMatchObject({ state: 'ERROR', reason: 'Failed tasks: a: at last' });
  });

  it('ends by break-on, which sees the failed attempt', () => {
    const run = open(`
    a: {${signal}, retry: {count: 9, delay: 0, break-on: <% task().result = "fatal" %>}}
`);
    run.fail('a', 'once more');
    run.fire();
    run.fail('a', 'fatal');
    expect(run.execution.state).toBe('ERROR');
    expect(run.called).toHaveLength(2);
  });

  it('repeats a success while continue-on holds: a poll', () => {
    const run = open(`
    a: {${signal}, retry: {count: 9, delay: 3, continue-on: <% task().result.status != "ready" %>}}
`);
    run.end('a', { status: 'wait' });
    run.fire();
    run.end('a', { status: 'ready' });
    expect(run.execution.state).toBe('SUCCESS');
  });

  it('gives each attempt the whole timeout', () => {
    const run = open(`
    a: {${signal}, timeout: 5, retry: count=1 delay=1}
`);
    run.fire();
    run.fire();
    run.fire();
    expect(run.time).toBe(11);
    expect(run.execution.state).toBe('ERROR');
    expect(run.stopped).toEqual(['e.1.1.0', 'e.1.2.0']);
  });

  it('ignores the late end of an attempt that timed out', () => {
    const run = open(`
    a: {${signal}, timeout: 5, retry: count=1 delay=1}
`);
    run.fire();
    run.fire();
    run.deliver({ action: 'e.1.1.0', ok: true, result: 'late', reason: null });
    expect(run.states()).toEqual(['a:RUNNING']);
    run.end('a', 'good');
    expect(run.runs('a')[0]?.result).toBe('good');
  });
});

describe('with-items', () => {
  const items = (more: string) => `
    a: {with-items: ['i in <% $.list %>', 'j in [1, 2, 3]'], action: anneal.stack_show, input: {stack: <% $.i %>}, ${more}publish: {all: <% task().result %>}}
`;
  const list = { head: '  input: [list]\n', input: { list: ['x', 'y', 'z'] } };

  it('goes through lists in step, with no more items at a time than the concurrency, results in item order', () => {
    const run = open(items('concurrency: 2, '), list);
    expect(run.called.map((each) => (each.kind === 'action' ? each.input : null))).toEqual([
      { stack: 'x' },
      { stack: 'y' },
    ]);
    run.deliver({ action: 'e.1.1.1', ok: true, result: 'Y', reason: null });
    expect(run.called).toHaveLength(3);
    run.deliver({ action: 'e.1.1.2', ok: true, result: 'Z', reason: null });
    run.deliver({ action: 'e.1.1.2', ok: false, result: 'twice', reason: null });
    run.deliver({ action: 'e.1.1.0', ok: true, result: 'X', reason: null });
    expect(run.execution.output).toEqual({ all: ['X', 'Y', 'Z'] });
  });

  it('repeats only the failed items in a rerun that asks for it', () => {
    const run = open(items(''), list);
    run.end('a', 'X');
    run.fail('a', 'bad');
    run.end('a', 'Z');
    expect(run.execution.reason).toBe('Failed tasks: a: One or more actions had failed.');
    expect(run.act({ kind: 'rerun', task: 'a', failed_items_only: true })).toBeUndefined();
    expect([...run.open.keys()]).toEqual(['e.1.2.1']);
    run.end('a', 'Y');
    expect(run.execution).toMatchObject({ state: 'SUCCESS', output: { all: ['X', 'Y', 'Z'] } });
  });

  it('succeeds with an empty list, and refuses lists of other lengths and too many items', () => {
    const empty = open(`
    a: {with-items: 'i in <% [] %>', action: std.echo output=1, publish: {all: <% task().result %>}}
`);
    expect(empty.execution.output).toEqual({ all: [] });
    const uneven = open(items(''), { ...list, input: { list: ['x'] } });
    expect(uneven.execution.reason).toContain('with-items: j has 3 items, i has 1');
    const many = open(`
    a: {with-items: i in <% range(1001) %>, action: std.noop}
`);
    expect(many.execution.reason).toContain('at most 1000');
  });
});

describe('a task with many items', () => {
  const many = (more = '') => `
    a: {with-items: i in <% $.list %>, action: anneal.stack_show stack=<% $.i %>, ${more}keep-result: false, on-error: noop}
`;
  const given = (count: number) => ({
    head: '  input: [list]\n',
    input: { list: Array.from({ length: count }, (_, index) => index) },
  });

  it('writes what an end changes, not all items', () => {
    const largestStep = (count: number): number => {
      const run = open(many('concurrency: 1, '), given(count));
      for (let index = 0; index < count - 1; index += 1) run.end('a', 'x'.repeat(1000));
      // The first step writes every page, the last one the result.
      return Math.max(...run.written.slice(1));
    };
    const [few, all] = [largestStep(40), largestStep(240)];
    expect(few).toBeGreaterThan(20_000);
    // The version of each page is two digits in the task.
    expect(all).toBeLessThan(few + 1000);
  });

  it('runs again with fewer items, or with none', () => {
    const run = open(
      `
    a: {with-items: i in <% env().list %>, action: anneal.stack_show stack=<% $.i %>, publish: {all: <% task().result %>}}
    stop: {action: std.noop, on-success: pause}
`,
      { env: { list: given(50).input.list } },
    );
    for (let index = 0; index < 50; index += 1) run.end('a', index, index !== 30);
    run.act({ kind: 'resume', env: { list: [7] } });
    expect(run.execution.state).toBe('ERROR');
    expect(run.act({ kind: 'rerun', task: 'a', failed_items_only: false })).toBeUndefined();
    expect(run.end('a', 'seven')).toMatchObject({ id: 'e.1.2.0', input: { stack: 7 } });
    expect(run.execution).toMatchObject({ state: 'SUCCESS', output: { all: ['seven'] } });
    expect(run.runs('a')[0]?.items).toHaveLength(1);
  });

  it('repeats only the failed item, and shows how many have ended', () => {
    const run = open(
      many().replace(', on-error: noop', '').replace('keep-result: false', 'keep-result: true'),
      given(45),
    );
    const ended = () => run.runs('a').map(itemCounts);
    for (let index = 0; index < 44; index += 1) run.end('a', index, index !== 30);
    expect(ended()).toEqual([{ ended: 44, total: 45 }]);
    run.end('a', 44);
    run.act({ kind: 'rerun', task: 'a', failed_items_only: true });
    expect(ended()).toEqual([{ ended: 44, total: 45 }]);
    expect([...run.open.keys()]).toEqual(['e.1.2.30']);
    run.end('a', 30);
    expect(run.runs('a')[0]?.result).toEqual(given(45).input.list);
  });
});

describe('a pause', () => {
  it('pause-before holds the task until an operator resumes; other actions may end meanwhile', () => {
    const run = open(`
    a: {pause-before: true, ${signal}}
    b: {${signal}, on-success: c}
    c: {${signal}}
`);
    expect(run.execution.state).toBe('PAUSED');
    expect(run.states()).toEqual(['a:IDLE', 'b:RUNNING']);
    expect(run.running()).toEqual([]);
    run.act({ kind: 'resume' });
    expect(run.running().sort()).toEqual(['a', 'b']);
    run.act({ kind: 'pause' });
    run.end('b');
    expect(run.states()).toEqual(['a:RUNNING', 'b:SUCCESS']);
    run.act({ kind: 'resume' });
    expect(run.running().sort()).toEqual(['a', 'c']);
  });

  it('keeps the links behind the command pause for the resumption, and timers that fire meanwhile', () => {
    const run = open(`
    a: {on-success: [b, pause, c]}
    b: {wait-before: 5, ${signal}}
    c: {${signal}}
`);
    expect(run.states()).toEqual(['a:SUCCESS', 'b:DELAYED']);
    run.fire();
    expect(run.states()).toEqual(['a:SUCCESS', 'b:DELAYED']);
    run.act({ kind: 'resume' });
    expect(run.running().sort()).toEqual(['b', 'c']);
  });
});

describe('an operator', () => {
  const failing = `
    a: {${signal}, on-success: j}
    b: {${signal}, on-success: j}
    j: {join: all}
`;

  it('reruns a failed task; joins behind it wait again', () => {
    const run = open(failing);
    run.end('b');
    run.fail('a');
    expect(run.states()).toEqual(['a:ERROR', 'b:SUCCESS', 'j:ERROR']);
    expect(run.act({ kind: 'rerun', task: 'b', failed_items_only: false })?.message).toContain('task b is SUCCESS');
    run.act({ kind: 'rerun', task: 'a', failed_items_only: false });
    expect(run.execution.state).toBe('RUNNING');
    run.end('a');
    expect(run.execution.state).toBe('SUCCESS');
  });

  it('skips a failed task, which takes on-success', () => {
    const run = open(failing);
    run.end('b');
    run.fail('a');
    run.act({ kind: 'skip', task: 'a' });
    expect(run.states()).toEqual(['a:SKIPPED', 'b:SUCCESS', 'j:SUCCESS']);
    expect(run.execution.state).toBe('SUCCESS');
  });

  it('cancels; actions are stopped, and a waiting parent is answered', () => {
    const run = open(failing, { parent: true });
    run.act({ kind: 'cancel', reason: 'enough' });
    expect(run.execution).toMatchObject({ state: 'CANCELLED', reason: 'enough' });
    expect(run.stopped).toEqual(['e.1.1.0', 'e.2.1.0']);
    expect(run.answers).toMatchObject([{ failure: { message: 'enough' } }]);
  });

  it('completes std.async_noop, and no other action', () => {
    const run = open(`
    a: {action: std.async_noop, publish: {x: <% task().result %>}}
    b: {${signal}}
`);
    const done = { kind: 'complete', state: 'SUCCESS', output: 7 } as const;
    expect(run.act({ ...done, task: 'b' })?.message).toContain('only std.async_noop');
    run.act({ ...done, task: 'a' });
    run.end('b');
    expect(run.execution.output).toEqual({ x: 7 });
  });
});

describe('a reverse workflow', () => {
  const text = workflowText(`  type: reverse
  tasks:
    net: {${signal}, publish: {net: <% task().result %>}}
    disk: {${signal}, publish: {disk: <% task().result %>}}
    host: {requires: [net, disk], ${signal}, publish: {all: [<% $.net %>, <% $.disk %>]}}
    other: {${signal}}
`);

  it('runs only what its goal requires, each once, when its requirements are done', () => {
    const run = new ExecutionDriver(text, { goal: 'host' });
    expect(run.running()).toEqual(['net', 'disk']);
    run.end('net', 1);
    run.end('disk', 2);
    run.end('host');
    expect(run.execution).toMatchObject({ state: 'SUCCESS', output: { all: [1, 2] } });
    expect(run.runs('other')).toEqual([]);
  });

  it('ends in ERROR when a requirement fails; nothing that depends on it runs', () => {
    const run = new ExecutionDriver(text, { goal: 'host' });
    run.fail('net');
    run.end('disk');
    expect(run.states()).toEqual(['net:ERROR', 'disk:SUCCESS']);
    expect(run.execution.state).toBe('ERROR');
  });

  it('refuses a start without its goal, and wrong input', () => {
    expect(() => new ExecutionDriver(text)).toThrow(
      'params.task_name must name one of its tasks: net, disk, host, other',
    );
    expect(() => open('    a: {}', { head: '  input: [x, {y: 1}]\n', input: { z: 1 } })).toThrow(
      'wrong input (unknown: z; missing: x). Its inputs: x, y.',
    );
  });
});

describe('the size of what an execution carries', () => {
  const large = 'x'.repeat(900_000);

  it('is limited in a branch, in the globals and at a join, as errors of tasks', () => {
    const chain = (publish: (name: string) => string) =>
      ['a', 'b', 'c', 'd', 'e', 'f']
        .map(
          (name, index, all) =>
            `    ${name}: {${signal}, on-success: {${publish(name)}, next: ${all[index + 1] ?? 'noop'}}}`,
        )
        .join('\n');
    for (const [scope, message] of [
      ['branch', 'publish: the values of this branch are larger than 4194304 bytes'],
      ['global', 'publish: the global values are larger than 4194304 bytes'],
    ] as const) {
      const run = open(chain((name) => `publish: {${scope}: {${name}: <% task().result %>}}`));
      for (const name of ['a', 'b', 'c', 'd', 'e']) run.end(name, large);
      expect(run.execution).toMatchObject({ state: 'ERROR', reason: expect.stringContaining(message) as unknown });
    }
    const names = ['a', 'b', 'c', 'd', 'e'];
    const joined = open(
      `${names.map((name) => `    ${name}: {${signal}, publish: {${name}: <% task().result %>}, on-success: z}`).join('\n')}\n    z: {join: all}`,
    );
    for (const name of names) joined.end(name, large);
    expect(joined.execution.reason).toContain('the values of all branches that join in z are larger');
  });

  it('is limited for the requirements of a task of a reverse workflow', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const run = open(
      `${names.map((name) => `    ${name}: {${signal}, publish: {${name}: <% task().result %>}}`).join('\n')}\n    z: {requires: [${names.join(', ')}]}`,
      { head: '  type: reverse\n', goal: 'z' },
    );
    for (const name of names) run.end(name, large);
    expect(run.execution.state).toBe('ERROR');
    expect(run.runs('z')[0]).toMatchObject({
      state: 'ERROR',
      reason: expect.stringContaining('required tasks') as unknown,
    });
  });

  it('is limited for the results of all items of a task', () => {
    const run = open(
      `    a: {with-items: 'i in [1, 2, 3, 4, 5]', ${signal}, publish-on-error: {n: '<% task().result[4] %>'}, on-error: noop}`,
    );
    for (let item = 0; item < 5; item += 1) run.end('a', large);
    expect(run.execution).toMatchObject({
      state: 'SUCCESS',
      output: { n: 'The results of all items are larger than 4194304 bytes.' },
    });
  });
});
