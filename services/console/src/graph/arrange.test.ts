import { describe, expect, it } from 'vitest';
import { arrange, type Item } from './arrange.ts';
import { criticalPath } from './critical-path.ts';

const leaf = (id: string, ...followers: string[]): Item => ({ id, followers });

describe('the arrangement of a graph', () => {
  it('draws an unfolded box as a frame that contains its boxes and overlaps no other box', () => {
    const { boxes, edges } = arrange([
      { id: 'group', followers: ['after'], inside: [leaf('group/0', 'group/1'), leaf('group/1')] },
      leaf('beside'),
      leaf('after'),
    ]);
    const at = new Map(boxes.map((box) => [box.id, box]));
    const [frame, inner, beside, after] = ['group', 'group/1', 'beside', 'after'].map((id) => at.get(id));
    if (!frame || !inner || !beside || !after) throw new Error('A box is missing.');
    expect(frame.isFrame).toBe(true);
    expect(inner.x).toBeGreaterThan(frame.x);
    expect(inner.x + inner.width).toBeLessThan(frame.x + frame.width);
    expect(inner.y + inner.height).toBeLessThan(frame.y + frame.height);
    expect(beside.y).toBeGreaterThan(frame.y + frame.height);
    expect(after.x).toBeGreaterThan(frame.x + frame.width);
    expect(edges).toEqual([
      ['group', 'after'],
      ['group/0', 'group/1'],
    ]);
  });
});

describe('the arrangement of many boxes', () => {
  const many = (count: number): Item[] => Array.from({ length: count }, (_, at) => leaf(`r${at}`));

  it('is about twice as wide as high, although all stand in the same column', () => {
    const { boxes, width, height } = arrange(many(10_000));
    expect(new Set(boxes.map(({ x, y }) => `${x} ${y}`)).size).toBe(10_000);
    expect(width / height).toBeGreaterThan(1.5);
    expect(width / height).toBeLessThan(2.5);
  });

  it('keeps a column that fits a screen, and what waits for it on its right', () => {
    expect(new Set(arrange(many(24)).boxes.map(({ x }) => x)).size).toBe(1);
    const { boxes } = arrange([...many(60).map(({ id }) => leaf(id, 'after')), leaf('after')]);
    const after = boxes.find(({ id }) => id === 'after');
    expect(Math.max(...boxes.flatMap(({ id, x }) => (id === 'after' ? [] : x)))).toBeLessThan(after?.x ?? 0);
    expect(new Set(boxes.map(({ x }) => x)).size).toBe(4);
  });
});

describe('the critical path', () => {
  const work = (id: string, ms: number | undefined, ...followers: string[]) => ({ id, ms, followers, kind: 'x' });

  it('is the chain that takes the longest, not the one with the most links', () => {
    const path = criticalPath([
      work('slow', 9000, 'end'),
      work('a', 10, 'b'),
      work('b', 10, 'c'),
      work('c', 10, 'end'),
      work('end', 10),
    ]);
    expect(path).toEqual(['slow', 'end']);
  });

  it('counts work that has not started as long as its kind took, and ends on a cycle', () => {
    const path = criticalPath([
      { ...work('done', 5000), kind: 'server' },
      { ...work('waiting', undefined), kind: 'server' },
      { ...work('quick', 10, 'waiting'), kind: 'config' },
    ]);
    expect(path).toEqual(['quick', 'waiting']);
    expect(criticalPath([work('a', 1, 'b'), work('b', 1, 'a')]).length).toBeGreaterThan(0);
    expect(criticalPath([])).toEqual([]);
    const chain = Array.from({ length: 20_000 }, (_, at) => work(`r${at}`, 1, `r${at + 1}`));
    expect(criticalPath(chain)).toHaveLength(20_000);
  });
});
