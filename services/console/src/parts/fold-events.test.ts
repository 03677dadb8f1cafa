import type { AnnealEvent } from '@anneal/client/events.ts';
import { expect, it } from 'vitest';
import { foldEvents } from './fold-events.ts';

const event = (id: string, type: string, name: string, reason = ''): AnnealEvent =>
  ({ id, type, time: '2030-01-01T00:00:00Z', subject: 's', data: { name, reason } }) as unknown as AnnealEvent;

it('folds equal neighbours into the first of them, and nothing else', () => {
  const events = [
    event('6', 'deployment.output', 'install'),
    event('5', 'deployment.output', 'install'),
    event('4', 'deployment.output', 'other'),
    event('3', 'host.up', 'web1'),
    event('2', 'host.up', 'web1', 'again'),
    event('1', 'deployment.output', 'install'),
  ];
  const lines = (most: number) => foldEvents(events, most).map(({ event: { id }, count }) => `${id}×${count}`);
  expect(lines(10)).toEqual(['6×2', '4×1', '3×1', '2×1', '1×1']);
  expect(lines(1)).toEqual(['6×2']);
  expect(lines(2)).toEqual(['6×2', '4×1']);
});
