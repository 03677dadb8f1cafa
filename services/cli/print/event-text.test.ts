import type { AnnealEvent } from '@anneal/client/events.ts';
import { noPlace, systemOccasion } from '@anneal/contracts/origin.ts';
import pc from 'picocolors';
import { expect, it } from 'vitest';
import { eventText } from './event-text.ts';

const at = (path: string) => ({
  ...noPlace,
  ...systemOccasion(),
  root: { stack_id: 's', stack_name: 'web' },
  path,
});
const line = (type: string, data: object): string =>
  eventText(
    { id: '1', time: '2030-01-01T10:20:30.000Z', type, subject: 'some-id', data } as unknown as AnnealEvent,
    pc.createColors(false),
  )
    .split('  ')
    .slice(1)
    .join('  ');

it.each([
  [
    'stack.update.started',
    { origin: at(''), stack_name: 'web', reason: 'Stack UPDATE started' },
    'web  Stack UPDATE started',
  ],
  [
    'resource.create.failed',
    {
      origin: at('workers/0/server'),
      stack_name: 'web-x3',
      resource_name: 'server',
      failure: { message: 'No node\nfits' },
    },
    'web/workers/0/server  No node',
  ],
  [
    'group.scaling.started',
    { origin: at('workers'), before: 2, after: 3, reason: 'signal', policy: 'more' },
    'web/workers  2 → 3 (more)',
  ],
  [
    'group.scaling.refused',
    {
      origin: at('workers'),
      before: 3,
      after: 4,
      reason: 'signal',
      policy: null,
      message: 'The group is cooling down.',
    },
    'web/workers  3 → 4 (signal): The group is cooling down.',
  ],
  [
    'group.member.left',
    { origin: at('workers/k3x'), member: 'k3x', reason: 'signal', policy: 'fewer' },
    'web/workers/k3x  fewer',
  ],
  ['deployment.started', { origin: at('config'), host_name: 'web-0' }, 'web/config  on web-0'],
  ['host.up', { origin: at('server'), name: 'web-0' }, 'web-0'],
  ['stack.created.by.a.newer.server', { origin: 'strange', stack_name: 'web' }, 'web'],
  ['thing.happened', null, 'some-id'],
])('%s', (type, data, expected) => {
  expect(line(type, data as object)).toBe(`${type}  ${expected}`);
});
