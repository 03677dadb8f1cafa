import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { expect, it } from 'vitest';
import { unansweredLines } from './host.ts';

const deployments = (count: number, failed: number): DeploymentView[] =>
  Array.from(
    { length: count },
    (_, index) =>
      ({
        id: `d${index}`,
        name: `config-${index}`,
        status: index < failed ? 'FAILED' : 'IN_PROGRESS',
        answer_state: 'never polled',
        queued_at: '2026-11-20T09:00:00Z',
      }) as DeploymentView,
  );
const named = (lines: readonly string[]): string[] => lines.map((line) => /config-\d+/.exec(line)?.[0] ?? line);

it('of many deployments without an answer, a host shows the one that holds up the others, the latest, and their number', () => {
  expect(named(unansweredLines(deployments(3, 1), 'web'))).toEqual(['config-0', 'config-1', 'config-2']);
  expect(named(unansweredLines(deployments(50, 2), 'web'))).toEqual([
    'config-2',
    ...Array.from({ length: 9 }, (_, index) => `config-${41 + index}`),
    '40 more: anneal deployment list --host web',
  ]);
  expect(unansweredLines(deployments(1, 0), 'web')).toEqual([
    'never polled: config-0 (IN_PROGRESS, d0), queued at 2026-11-20T09:00:00Z',
  ]);
});
