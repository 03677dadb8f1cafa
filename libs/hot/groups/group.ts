/** The first members of a group of any kind. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { chainMembers } from './chain.ts';
import { deploymentDefinition, deploymentNames } from './deployments.ts';
import { groupKind } from './kind.ts';
import { EvaluationWork } from '../evaluate/work.ts';
import type { GroupMember } from './member.ts';
import { memberNames, nextSkipped, numberedDefinition } from './numbered.ts';
import { firstSize, instanceDefinition, scalingDefinition } from './scaling.ts';

/** The group, and the means to name its members. */
export interface FirstMembers {
  /** Type of the group. */
  readonly type: string;
  /** Evaluated, with defaults. */
  readonly properties: JsonObject;
  /** Names the members of groups that scale, by position. */
  readonly newName: (position: number) => string;
  /** The launch configuration of an instance group. `reference` is the reference of the group. */
  readonly configuration?: { readonly properties: JsonObject; readonly metadata?: JsonObject | undefined } | undefined;
  readonly reference?: Json;
}

/** Work charged for each member, in values. */
const workAMember = 50;

/** Number of members of a new group, known before any is created. */
export function firstCount({ type, properties }: Pick<FirstMembers, 'type' | 'properties'>): number {
  const kind = groupKind(type);
  if (kind === 'chain') return Array.isArray(properties['resources']) ? properties['resources'].length : 0;
  if (kind === 'deployments') return deploymentNames(properties).length;
  if (kind === 'numbered') return Number(properties['count'] ?? 1);
  return kind === undefined ? 0 : firstSize(kind, properties);
}

/** Call before creating the members, because each gets the whole definition. @throws OutOfWork */
export function payForMembers(
  work: EvaluationWork,
  { count, properties }: { count: number; properties: JsonObject },
): void {
  // These hold a part per member, so each member gets only its own part.
  const { servers: _, resources: __, ...shared } = properties;
  const definition = new EvaluationWork(undefined, { most: Infinity });
  definition.look(shared);
  work.spend(count * (workAMember + definition.spent));
}

/** The members of a new group. None for a type that is no group. */
export function firstMembers(parameters: FirstMembers): GroupMember[] {
  const { type, properties, newName, configuration = { properties: {} }, reference = null } = parameters;
  const kind = groupKind(type);
  if (kind === undefined) return [];
  if (kind === 'chain') return chainMembers({ properties });
  if (kind === 'deployments') {
    return deploymentNames(properties).map((name) => ({
      name,
      definition: deploymentDefinition({ type, properties, name }),
    }));
  }
  if (kind === 'numbered') {
    const skipped = new Set(nextSkipped({ properties, skipped: new Set(), references: undefined }));
    const names = memberNames({ count: Number(properties['count'] ?? 1), skipped });
    return names.map((name) => ({ name, definition: numberedDefinition({ properties, name }) }));
  }
  const definition =
    kind === 'scaling'
      ? scalingDefinition(properties)
      : instanceDefinition({ properties, configuration, group: reference });
  return Array.from({ length: firstSize(kind, properties) }, (_, index) => ({ name: newName(index), definition }));
}
