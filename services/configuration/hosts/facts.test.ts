import { describe, expect, it } from 'vitest';
import { factsIn, mergeFacts } from './facts.ts';

describe('facts in outputs', () => {
  it('are the outputs with the prefix, as trimmed text or as they are', () => {
    const outputs = { 'fact.rack': ' a\n', 'fact.ports': [80], 'fact.': 'none', factory: 'x', result: 'y' };
    expect(factsIn(outputs)).toEqual({ rack: 'a', ports: [80] });
  });
});

describe('merged facts', () => {
  it('keep the others, replace by name, and lose what is null or empty', () => {
    const before = { rack: 'a', kernel: '6.1', disk: 'sda' };
    const merged = mergeFacts(before, { rack: 'b', kernel: null, disk: '' });
    expect(merged).toEqual({ facts: { rack: 'b' }, changed: true, dropped: [] });
  });

  it('have not changed when the report repeats them, whatever its order', () => {
    const merged = mergeFacts({ rack: 'a', n: { x: 1, y: 2 } }, { n: { y: 2, x: 1 }, rack: 'a', gone: null });
    expect(merged.changed).toBe(false);
  });

  it('name the facts that do not fit, and keep the earlier values of those', () => {
    const large = 'x'.repeat(65 * 1024);
    expect(mergeFacts({ rack: 'a' }, { rack: large, more: large, row: '1' })).toEqual({
      facts: { rack: 'a', row: '1' },
      changed: true,
      dropped: ['rack', 'more'],
    });
  });

  it('treat a name such as __proto__ as any other', () => {
    const merged = mergeFacts({}, JSON.parse('{"__proto__": "x"}') as Record<string, string>);
    expect(Object.keys(merged.facts)).toEqual(['__proto__']);
  });
});
