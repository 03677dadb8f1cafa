import { expect, it } from 'vitest';
import { nodeSchema } from '../representation.ts';
import { notesOf, progressLineOf, workOf } from './node-notes.ts';

const since = '2026-01-01T00:00:00.000Z';
const condition = (type: string, message: string) => ({ type, status: 'False', reason: 'R', message, since });
const node = (more: object) => nodeSchema.parse({ uuid: 'n', last_error: 'no answer', ...more });

it('names the work of a node without its process', () => {
  expect(workOf(node({ reservation: 'provisioning: deploying, "set boot", since T0' }))).toBe(
    'deploying, "set boot", since T0',
  );
  expect(workOf(node({ reservation: null }))).toBeNull();
});

it('shows the conditions that nothing else shows', () => {
  const conditions = [
    condition('Identity', 'no answer'),
    condition('Reachable', 'it does not answer'),
    condition('Stalled', 'power on: no answer'),
    condition('Nameless', ''),
    condition('BootsFromDisk', 'The machine may boot from the network.'),
  ];
  expect(notesOf(node({ conditions })).map(({ type }) => type)).toEqual(['BootsFromDisk']);
  expect(notesOf(node({}))).toEqual([]);
});

it('shows how far the machine is with its disk, as a bar and in words', () => {
  const times = { since, at: since, moved_at: since };
  const rate = { bytes_per_second: 2 * 2 ** 20, seconds_left: 245, problem: null };
  const progress = { phase: 'writing', image: 'debian', bytes: 432_013_312, total: 945_815_552, ...rate, ...times };
  expect(progressLineOf(node({ progress }))).toBe(
    'writes image debian [#########-----------] 412 MiB of 902 MiB (45 %), 2.0 MiB/s, about 4 min left',
  );
  expect(progressLineOf(node({}))).toBeNull();
});
