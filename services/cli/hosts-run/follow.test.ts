import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { expect, it } from 'vitest';
import { runOnHosts, type CommandRun } from './follow.ts';

const deployment = (id: string, finished_at: string | null): DeploymentView =>
  ({ id, finished_at, status: finished_at === null ? 'IN_PROGRESS' : 'COMPLETE' }) as DeploymentView;

it('ends although the clock of a host is an hour behind, so that its answer is never among the news', async () => {
  let asked = 0;
  const all = (): DeploymentView[] => [
    deployment('on time', '2030-01-01T12:00:00.000Z'),
    deployment('behind', asked > 2 ? '2030-01-01T11:00:00.000Z' : null),
  ];
  const deployments = {
    run: () => Promise.resolve(all()),
    // As the server lists them.
    list: ({ endedAfter }: { endedAfter?: string | undefined } = {}) => {
      asked += 1;
      return Promise.resolve(
        all().filter(({ finished_at: at }) => endedAfter === undefined || (at ?? '') > endedAfter),
      );
    },
  };
  const seen: string[] = [];
  const ended = await runOnHosts({
    client: { deployments } as unknown as CommandRun['client'],
    config: 'c',
    hosts: ['a', 'b'],
    seconds: 60,
    batch: 2,
    signal: new AbortController().signal,
    onEnd: ({ id }) => seen.push(id),
    onOutage: () => undefined,
  });
  expect(ended.map(({ id }) => id)).toEqual(['on time', 'behind']);
  expect(seen).toEqual(['on time', 'behind']);
});
