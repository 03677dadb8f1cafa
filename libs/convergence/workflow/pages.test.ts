import { expect, it } from 'vitest';
import type { TaskDocument, TaskItem } from './documents.ts';
import { itemCounts, itemsPerPage, joinTask, splitTask } from './pages.ts';

const items = (count: number): TaskItem[] =>
  Array.from({ length: count }, (_, index) => ({ state: 'RUNNING', values: { i: index }, result: null }));

/** A running task as it was stored before tasks had pages: every item in its document. */
const storedWhole = (count: number): TaskDocument => ({
  id: 'run-1.1',
  version: 7,
  execution_id: 'run-1',
  number: 1,
  name: 'a',
  state: 'RUNNING',
  reason: null,
  context: { values: {}, stamps: {} },
  triggers: [],
  attempt: 1,
  tries: 1,
  items: items(count),
  listed: true,
  result: null,
  published: {},
  wait: null,
  due: false,
  outcome: null,
  processed: false,
  handled: false,
  taken: [],
  created_at: '2026-01-01T00:00:00.000Z',
  started_at: '2026-01-01T00:00:00.000Z',
  finished_at: null,
});
const ending = (task: TaskDocument, at: number): TaskDocument => ({
  ...task,
  items: task.items.map((item, index) => (index === at ? { ...item, state: 'SUCCESS', result: index } : item)),
});
const rejoined = ({ stored, pages }: ReturnType<typeof splitTask>): TaskDocument =>
  joinTask(stored, new Map(pages.map((page) => [page.id, page])));

it('reads a large task that is stored whole, and writes all its pages with its next step', () => {
  const before = joinTask(storedWhole(itemsPerPage + 5), new Map());
  expect(before).toEqual(storedWhole(itemsPerPage + 5));
  const after = ending(before, itemsPerPage + 1);
  const split = splitTask(before, after);
  expect(split.stored.items).toEqual([]);
  expect(split.pages.map(({ id, version, items: { length } }) => [id, version, length])).toEqual([
    ['run-1.1.items.0', 1, itemsPerPage],
    ['run-1.1.items.1', 1, 5],
  ]);
  expect(rejoined(split).items).toEqual(after.items);
  expect(itemCounts(split.stored)).toEqual({ ended: 1, total: itemsPerPage + 5 });
});

it('writes only the page of an item that ended', () => {
  const first = splitTask(undefined, storedWhole(itemsPerPage + 5)).whole;
  const split = splitTask(first, ending(first, 3));
  expect(split.pages.map(({ id, version }) => [id, version])).toEqual([['run-1.1.items.0', 2]]);
});

it('stores a small task whole, and refuses to read a task without one of its pages', () => {
  const small = storedWhole(itemsPerPage);
  expect(splitTask(undefined, small)).toEqual({ whole: small, stored: small, pages: [] });
  const { stored, pages } = splitTask(undefined, storedWhole(itemsPerPage + 1));
  const first = new Map(pages.slice(0, 1).map((page) => [page.id, page]));
  expect(() => joinTask(stored, first)).toThrow('task run-1.1 has no page 1 of its items');
});
