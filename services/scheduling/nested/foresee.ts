/** Predicts the inputs of a nested stack before the resources around it are created or changed. Pure. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import type { PreviewRow } from '@anneal/convergence/preview/preview.ts';
import { groupKind } from '@anneal/hot/groups/kind.ts';
import { holdsOpened, isOpened, isUndecided, openName } from '@anneal/hot/groups/open.ts';
import { stackTypeOf } from '@anneal/hot/types/stack-types.ts';
import { referencesOf } from '@anneal/hot/tree/references.ts';

export interface NestedPrediction {
  readonly properties: JsonObject;
  /** Parameters of the nested template whose values are not known yet. */
  readonly unknown: readonly string[];
}

/** Returns undefined when the contents cannot be predicted. */
export function predictionOf({ planned, predicted }: PreviewRow): NestedPrediction | undefined {
  const { properties, unknown, open } = predicted;
  if (unknown.length === 0) return { properties, unknown };
  switch (planned?.nested?.kind) {
    case 'template':
      return { properties, unknown };
    case 'group':
      return isUndecided(planned.type, open) ? undefined : { properties: open, unknown: [openName] };
    case 'stack': {
      const stack = stackTypeOf(planned.type);
      if (!stack || unknown.includes(stack.template.property)) return undefined;
      const key = stack.parameters;
      const parameters = open[key] ?? {};
      if (isOpened(parameters) || typeof parameters !== 'object' || parameters === null) return undefined;
      const entries = Object.entries(parameters as JsonObject);
      const known = toRecord(entries.filter(([, value]) => !holdsOpened(value)));
      return {
        properties: { ...properties, [key]: known },
        unknown: entries.filter(([, value]) => holdsOpened(value)).map(([name]) => name),
      };
    }
    case undefined:
      return undefined;
  }
}

/** The row of an instance group's launch configuration, found by name, because it has no reference before it exists. */
export function launchConfiguration(
  { type, nested, properties }: PlanResource,
  beside: ReadonlyMap<string, PreviewRow>,
): PreviewRow | undefined {
  const isInstances = nested?.kind === 'group' && groupKind(type) === 'instances';
  const expression = isInstances ? properties['LaunchConfigurationName'] : undefined;
  const [name] = expression ? referencesOf(expression).resources : [];
  return name === undefined ? undefined : beside.get(name);
}
