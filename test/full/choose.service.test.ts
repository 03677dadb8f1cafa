import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  changedFiles,
  continueRun,
  firstChange,
  namedParts,
  whyTooLong,
  type FullRun,
  type PartResult,
} from './choose.ts';
import { testParts, type TestPart } from './parts.ts';
import { failingLines, partsTable, progressLine, reportOf, spell } from './report.ts';

const part = (name: string, more: Partial<TestPart> = {}): TestPart => ({
  name,
  description: `tests ${name}`,
  minutes: 5,
  limit: 10,
  commands: [],
  folders: [],
  ...more,
});
const all = [part('a', { minutes: 1 }), part('b'), part('c', { minutes: 20 })];
const namesOf = (parts: readonly TestPart[]): string[] => parts.map(({ name }) => name);
const result = (name: string, outcome: PartResult['outcome'], more: Partial<PartResult> = {}): PartResult => ({
  name,
  outcome,
  seconds: 61,
  ...more,
});

describe('the table of parts', () => {
  it('has the shortest part first, and a limit above each usual duration', () => {
    const minutes = testParts.map((each) => each.minutes);
    expect(minutes).toEqual(minutes.toSorted((a, b) => a - b));
    for (const { limit, minutes: usual } of testParts) expect(limit).toBeGreaterThan(2 * usual);
  });

  it('names each part once', () => {
    expect(new Set(namesOf(testParts)).size).toBe(testParts.length);
  });

  const root = join(import.meta.dirname, '..', '..');
  it.each(testParts)('$name: its programs, and each of its folders, exist', ({ commands, folders }) => {
    const programs = commands.map(({ words }) => words[0] ?? '');
    expect(programs.filter((program) => !existsSync(join(root, program)))).toEqual([]);
    expect(folders.filter((folder) => globSync(folder, { cwd: root }).length === 0)).toEqual([]);
  });

  it('is printed with its sum', () => {
    expect(partsTable(all)).toBe('a      1 min  tests a\nb      5 min  tests b\nc     20 min  tests c\nall   26 min\n');
  });
});

describe('the parts of a run', () => {
  it('are all without a name, and the named ones in the order of the table', () => {
    expect(namedParts(all, [])).toEqual(all);
    expect(namesOf(namedParts(all, ['c', 'a']))).toEqual(['a', 'c']);
  });

  it('an unknown name is refused with the list', () => {
    expect(() => namedParts(all, ['a', 'd'])).toThrow('There is no part d. The parts are: a, b, c.');
  });

  it('a part fits into what is left of the time, or is left out with the reason', () => {
    expect(whyTooLong(part('b'), 5)).toBeUndefined();
    expect(whyTooLong(part('b'), 4.99)).toBeUndefined();
    expect(whyTooLong(part('b'), 4.4)).toBe('it usually takes 5 min, and 4 min are left');
    expect(whyTooLong(part('b'), -1)).toBe('it usually takes 5 min, and 0 min are left');
  });
});

describe('the continuation of the last run', () => {
  const tree = { commit: 'one', isChanged: false };
  const last: FullRun = { ...tree, chosen: ['a', 'b', 'c'], results: [result('a', 'passed'), result('b', 'failed')] };

  it('runs again what failed, and what did not run', () => {
    const plan = continueRun(all, { names: [], last, tree });
    expect(namesOf(plan.parts)).toEqual(['b', 'c']);
    expect(plan.chosen).toEqual(all);
    expect(plan.kept).toEqual([result('a', 'passed')]);
    expect(plan.note).toBeUndefined();
  });

  it.each(['stopped', 'skipped', 'left out'] as const)('runs again what was %s', (outcome) => {
    const ended = { ...last, chosen: ['a'], results: [result('a', outcome)] };
    expect(namesOf(continueRun(all, { names: [], last: ended, tree }).parts)).toEqual(['a']);
  });

  it('runs only the named parts, and keeps the results of the others', () => {
    const plan = continueRun(all, { names: ['c'], last, tree });
    expect(namesOf(plan.parts)).toEqual(['c']);
    expect(plan.chosen).toEqual(all);
    expect(plan.kept).toEqual(last.results);
  });

  it('ignores a part that the table no longer has', () => {
    const gone = { ...last, chosen: ['gone', 'b'] };
    expect(namesOf(continueRun(all, { names: [], last: gone, tree }).parts)).toEqual(['b']);
  });

  it('starts from the beginning on another commit, with a line that says so', () => {
    const plan = continueRun(all, {
      names: [],
      last: { ...last, chosen: ['a', 'b'] },
      tree: { ...tree, commit: 'two' },
    });
    expect(namesOf(plan.parts)).toEqual(['a', 'b']);
    expect(plan.kept).toEqual([]);
    expect(plan.note).toBe('The last run tested one, and this is two; starting from the beginning.');
  });

  it('starts from the beginning without an earlier run', () => {
    const plan = continueRun(all, { names: [], last: undefined, tree });
    expect(plan.parts).toEqual(all);
    expect(plan.note).toBe('There is no earlier run; starting from the beginning.');
  });
});

describe('changed files', () => {
  it('include what git reports, except a rename without a change of content', () => {
    const output = 'M\0libs/a.ts\0R100\0libs/old.ts\0libs/new.ts\0D\0libs/b.ts\0A\0libs/c d.ts\0';
    expect(changedFiles(output)).toEqual(['libs/a.ts', 'libs/b.ts', 'libs/c d.ts']);
    expect(changedFiles('')).toEqual([]);
  });

  const bus = part('bus', { folders: ['libs/bus/*', 'libs/bus/{raw,send}', 'services/*/main.ts'] });
  it.each(['libs/bus/open.ts', 'libs/bus/raw/nats.ts', 'libs/bus/send/deep/a.json', 'services/agent/main.ts'])(
    '%s runs a part with that folder',
    (file) => {
      expect(firstChange(bus, ['docs/a.ts', file])).toBe(file);
    },
  );

  it.each([
    'libs/bus/open.test.ts',
    'libs/bus/raw/nats.contract.ts',
    'libs/bus/raw/long.soak.ts',
    'libs/bus/raw/testing/fake.ts',
    'libs/bus/README.md',
    'libs/busy/open.ts',
    'services/agent/service.ts',
    'services/agent/deep/main.ts',
  ])('%s does not', (file) => {
    expect(firstChange(bus, [file])).toBeUndefined();
  });

  it.each([
    ['libs/bus/rabbitmq/consume/a.ts', ['rabbitmq', 'scenarios-rabbitmq']],
    ['libs/bus/consume/a.ts', ['nats', 'rabbitmq']],
    ['libs/store/mongodb/a.ts', ['mongodb', 'scenarios-nats', 'scenarios-rabbitmq']],
    ['services/console/src/pages/a.tsx', ['console']],
    ['services/gateway/zaqar/queues/a.ts', ['programs']],
    ['libs/convergence/graph/graph.ts', ['seeds']],
    ['services/cli/serve/a.ts', ['services', 'soak']],
    ['docs/a.ts', []],
  ])('%s runs at least %j', (file, names) => {
    expect(namesOf(testParts.filter((each) => firstChange(each, [file])))).toEqual(expect.arrayContaining(names));
  });
});

describe('the report', () => {
  it('says each duration in minutes and seconds', () => {
    expect([0.4, 59.6, 61].map(spell)).toEqual(['0 s', '1 min 0 s', '1 min 1 s']);
  });

  it('says after a part how it ended and what is left', () => {
    expect(progressLine(result('a', 'passed'), all.slice(1))).toBe('a passed (1 min 1 s); left: b, c (about 25 min)');
    expect(progressLine(result('c', 'failed', { reason: 'ended with 1' }), [])).toBe(
      'c failed: ended with 1 (1 min 1 s)',
    );
  });

  it('takes the lines of failed tests, without colours and once', () => {
    const output = '✓ a\n × b > c\n\u001b[31m FAIL \u001b[39m b.test.ts > c\nFAIL  b.test.ts > c\n FAIL  d.test.ts\n';
    expect(failingLines(output)).toEqual(['FAIL  b.test.ts > c', 'FAIL  d.test.ts']);
    expect(failingLines('✓ a\n × b > c\n')).toEqual(['× b > c']);
    expect(failingLines(Array.from({ length: 30 }, (_, at) => `FAIL ${at}`).join('\n'))).toHaveLength(20);
  });

  it('takes the last lines of a program that is no test', () => {
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
    expect(failingLines(lines.join('\n\n'))).toEqual(lines.slice(-10));
  });

  it('lists every chosen part, also one that did not run', () => {
    const results = [
      result('a', 'passed', { log: '.anneal-test/a.log' }),
      result('b', 'failed', { reason: 'x | y', log: '.anneal-test/b.log', lines: ['FAIL b.test.ts'] }),
    ];
    const run: FullRun = { commit: '0123456789abcdef', isChanged: true, chosen: ['a', 'b', 'c'], results };
    expect(reportOf(run, '2026-01-31T12:00:00Z')).toBe(`# npm run test:full, 2026-01-31T12:00:00Z

Commit 0123456789ab with changes that are not in it: 1 passed, 1 failed, 1 not run.

| part | outcome | time | log |
| --- | --- | --- | --- |
| a | passed | 1 min 1 s | .anneal-test/a.log |
| b | failed: x \\| y | 1 min 1 s | .anneal-test/b.log |
| c | not run |  |  |

## b

    FAIL b.test.ts
`);
  });
});
