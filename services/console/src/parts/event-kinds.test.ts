import { matcherOf } from '@anneal/bus/pattern.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { expect, it } from 'vitest';
import { eventKindOf, eventKinds, isOfKind, type EventKind } from './event-kinds.ts';

it('sorts the events that arrive as the server sorts those that it lists', () => {
  const types = [...registry.values()].filter(({ kind }) => kind === 'event').map(({ type }) => type);
  for (const [kind, patterns] of Object.entries(eventKinds)) {
    const fits = matcherOf(patterns);
    expect(types.filter((type) => isOfKind(type, kind as EventKind))).toEqual(types.filter(fits));
    expect(types.some(fits)).toBe(true);
  }
  expect(isOfKind('stack.create.started', undefined)).toBe(true);
  expect([eventKindOf('Hosts'), eventKindOf('toString'), eventKindOf(undefined)]).toEqual([
    'Hosts',
    undefined,
    undefined,
  ]);
});
