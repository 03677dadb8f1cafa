/** The limits of the offline commands: those of the settings that a server reads, because no server is asked. */
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { evaluationSettings, templateSettings } from '@anneal/runtime/service/shared-settings.ts';

/** The limits of one template and the stacks nested in it. */
export interface OfflineLimits {
  readonly maxDepth: number;
  readonly maxResources: number;
  readonly limits: EvaluationLimits;
}

/** @throws AnnealError InvalidRequest that names every wrong setting */
export function offlineLimits(environment: Readonly<Record<string, string | undefined>>): OfflineLimits {
  return {
    ...readSettings(templateSettings, environment),
    limits: readSettings(evaluationSettings, environment),
  };
}
