/** The run of a deployment that has no stack. */
import type { Draft } from '@anneal/store/port.ts';
import type { ConfigurationResource, DeploymentState, HostDocument } from '../../collections.ts';
import { restingState, startRun, type Asked, type NewRunContext, type RunTarget } from '../requests/new-run.ts';

/** Its time limit, unless the client names another one. */
export const usualLimitMs = 86_400_000;
const noStack = { id: '', name: '' };

export function runOf(
  context: NewRunContext,
  base: Draft<ConfigurationResource>,
  options: {
    host: HostDocument;
    target: RunTarget;
    action: DeploymentState['action'];
    deadline: string;
    before: DeploymentState | null;
    version: number;
  },
): Draft<ConfigurationResource> {
  const { deadline, ...run } = options;
  const asked: Asked = { resource: { id: base.id, name: base.name }, stack: noStack, fence: base.fence, deadline };
  const started = startRun(context, { ...run, base, asked });
  if (started) return started;
  // A component without an entry for the action has nothing to do.
  return { ...base, deployment: restingState(context, run.before, run), status: 'COMPLETE' };
}
