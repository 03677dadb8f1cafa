import { describe, expect, it } from 'vitest';
import type { Row } from '../report.ts';
import { costOfOne, type Cost } from './meter.ts';
import { costTable } from './table.ts';

const cost = (value: number): Cost => ({
  cpuMicros: value,
  messages: value,
  events: value,
  calls: value,
  storeCalls: value,
  documentsWritten: value,
  bytesWritten: value,
  memory: value,
});

describe('the cost of one thing', () => {
  it('is what one run used more than the other, for each thing that it had more', () => {
    expect(costOfOne({ less: cost(100), more: cost(400), count: 100 })).toEqual(cost(3));
  });
});

describe('the table of costs', () => {
  const row = (metric: string, value: number): Row => ({
    bench: 'cost',
    case: 'a resource',
    backend: 'embedded',
    n: 10,
    metric,
    unit: '',
    value,
  });

  it('has a line for each thing, with an empty cell for a figure that it has not', () => {
    const [head, , line] = costTable([row('processor', 1234.5), row('messages', 2)]).split('\n');
    expect(head).toMatch(/^\| thing \| processor, µs \| messages \|/);
    expect(line).toBe('| a resource | 1,235 | 2.00 |  |  |  |  |  |  |');
  });

  it('shows a difference that is no whole thing as none', () => {
    expect(costTable([row('messages', -0.002)])).toContain('| a resource |  | 0 |');
  });
});
