import type { Overview } from '@anneal/contracts/calls/overview.ts';
import pc from 'picocolors';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { busiestQueues, topLines, type TopReading } from './view.ts';

const colors = pc.createColors(false);
const now = Date.parse('2030-01-01T00:01:00.000Z');
const since = '2030-01-01T00:00:00.000Z';

const stack = (name: string, action: 'CREATE' | 'DELETE' = 'CREATE'): Overview['working'][number] => ({
  id: name,
  name,
  action,
  status: 'IN_PROGRESS',
  paused: false,
  since,
  why: { summary: `node machine-1 of ${name} boots, which takes some minutes on real machines`, chain: [], exits: [] },
});
const queue = (name: string, depth: number, oldest_age_ms: number | null = null) => ({
  name,
  kind: name.startsWith('anneal.') ? 'service' : 'host',
  depth,
  in_flight: 0,
  consumers: 1,
  oldest_age_ms,
});
const reading = (more: Partial<TopReading> = {}, overview: Partial<Overview> = {}): TopReading => ({
  overview: {
    stacks: { CREATE_COMPLETE: 12, CREATE_IN_PROGRESS: 1 },
    nodes: { available: 3, active: 2 },
    hosts: { up: 2, silent: 0 },
    needs: [{ kind: 'host', id: 'h', name: 'db1', summary: 'Host db1 has fallen silent.', since, exits: [] }],
    working: [stack('web'), stack('old', 'DELETE')],
    unavailable: [],
    ...overview,
  },
  queues: [queue('host.a.requests', 1, 1000), queue('empty', 0), queue('host.b.requests', 5)],
  resources: new Map([
    ['web', { complete: 2, total: 3 }],
    ['old', { complete: 1, total: 4 }],
  ]),
  eventRate: 12.34,
  ...more,
});
const view = (width: number, rows?: number, given = reading()): string[] =>
  topLines(given, { size: { width, rows }, now, colors });

describe('the view', () => {
  it('shows counts, the share of complete resources, what stacks wait for, busy queues and what needs a person', () => {
    const lines = view(200);
    expect(lines[0]).toMatch(/^anneal top {2}\d\d:\d\d:\d\d {2}12.3 events\/s$/);
    expect(lines.slice(1, 4)).toEqual([
      'stacks  12 CREATE_COMPLETE, 1 CREATE_IN_PROGRESS',
      'nodes   3 available, 2 active',
      'hosts   2 up',
    ]);
    expect(lines.find((line) => line.startsWith('web'))).toMatch(
      /^web +66% +node machine-1 of web boots.* {2}1m00s {2}CREATE_IN_PROGRESS$/,
    );
    expect(lines.find((line) => line.startsWith('old'))).toContain('4 left');
    expect(lines.filter((line) => line.includes('.requests')).map((line) => line.split(/ +/)[0])).toEqual([
      'host.b.requests',
      'host.a.requests',
    ]);
    expect(lines.at(-1)).toMatch(/^host db1 {3}1m00s {2}Host db1 has fallen silent\.$/);
  });

  it.each([40, 80, 200])('fits %i columns', (width) => {
    const lines = view(width);
    for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(width);
    expect(lines.find((line) => line.startsWith('web'))).toContain('node machi');
  });

  it.each([10, 24, 50])('fits %i rows, and says how many more there are', (rows) => {
    const many = reading(
      { queues: Array.from({ length: 40 }, (_, at) => queue(`q${at}`, at)) },
      { working: Array.from({ length: 40 }, (_, at) => stack(`s${at}`)) },
    );
    const lines = view(80, rows, many);
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(lines.join('\n')).toMatch(/… \d+ more/);
  });

  it('says that there is nothing, and why it is old', () => {
    const quiet = reading({ queues: [], eventRate: undefined }, { stacks: {}, needs: [], working: [] });
    const lines = topLines(quiet, { size: { width: 80, rows: 24 }, now, colors, trouble: 'No answer. Retrying.' });
    expect(lines).toContain('No answer. Retrying.');
    expect(lines).toContain('stacks  none');
    expect(lines).toContain('No stack is in progress.');
    expect(lines).toContain('No queue holds messages.');
    expect(lines).toContain('Nothing needs a person.');
    expect(lines[0]).not.toContain('events/s');
  });
});

it('orders queues by messages, then by age, without those of services that only work', () => {
  const working = { ...queue('anneal.configuration.requests', 0), in_flight: 1 };
  const held = { ...queue('host.a.requests', 0), in_flight: 1 };
  const names = busiestQueues([working, held, queue('a', 1), queue('b', 2, 1), queue('c', 2, 9)]).map(
    ({ name }) => name,
  );
  expect(names).toEqual(['c', 'b', 'a', 'host.a.requests']);
});
