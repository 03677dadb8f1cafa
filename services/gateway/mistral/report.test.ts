import { describe, expect, it } from 'vitest';
import { parameterReader, refuseAll } from '../http/input.ts';
import { executionTreeSchema } from './report.ts';

const read = parameterReader(executionTreeSchema, { place: 'query', refuse: refuseAll });

describe('the query of a tree of executions', () => {
  it('reads the flags of clients in Python: True, and an empty text for false', () => {
    const all = { max_depth: -1, errors_only: false, statistics_only: false };
    expect(read({})).toEqual(all);
    expect(read({ max_depth: '-1', errors_only: '' })).toEqual(all);
    expect(read({ errors_only: 'True', statistics_only: 'true' })).toEqual({
      ...all,
      errors_only: true,
      statistics_only: true,
    });
  });

  it('refuses other flags and depths', () => {
    expect(() => read({ errors_only: 'x', max_depth: '-2' })).toThrow(
      'max_depth: must be at least -1, not "-2"; errors_only: must be true or false, not "x"',
    );
  });
});
