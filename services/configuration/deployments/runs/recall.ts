/** The end of a run that the engine recalled before the configs that come first had ended. */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { ConfigurationResource } from '../../collections.ts';
import { finishRun, type Ending } from './run.ts';
import type { RunContext } from './run-context.ts';

export function recalledEnding(name: string): Ending {
  const error = new AnnealError(
    'DeploymentSkipped',
    `${name} was not run: its stack recalled it before the configs before it had ended.`,
  );
  return { status: 'SKIPPED', reason: error.message, failure: toFailure(error) };
}

/** Whether the engine recalled the run while its host held the request behind another one. */
export const isRecalled = ({ cancelled, fence, response }: ConfigurationResource): boolean =>
  cancelled === fence && response === null;

/** Ends a recalled run that its host has not begun: the host claims again. */
export const endRecalled = (context: RunContext, document: ConfigurationResource): Promise<boolean> =>
  finishRun(context, document.run_id ?? '', ({ name }, current) =>
    isRecalled(current) ? recalledEnding(name) : undefined,
  );
