/** The parts of its request that a nested stack stores in its document, so that it can be compiled again by itself. */
import type { Json, JsonObject, SealableObject } from '@anneal/contracts/json.ts';
import type { NestedRequest } from '@anneal/contracts/resource.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { ScalingState } from './scaling-state.ts';
import { type Cooldown, keptCooldown } from './cooldown.ts';

export interface GroupState {
  /** The member names in the order of the group: by number, by age, or in the order of the servers property. */
  readonly names: readonly string[];
  /** The members in the warm pool, which are not in service; absent: none. */
  readonly warm?: readonly string[];
  /** The latest update of the group only filled its warm pool. */
  readonly filling?: boolean;
  /** Names that are never used again. */
  readonly skipped: readonly string[];
  readonly cooldown: Cooldown;
  /** The launch configuration of an instance group. */
  readonly configuration: { readonly properties: JsonObject; readonly metadata: JsonObject } | null;
  /** Only for a group that scales. */
  readonly scaling?: ScalingState;
}

export interface StoredNestedRequest {
  readonly kind: NestedRequest['kind'];
  readonly type: string;
  readonly reads: readonly (readonly Json[])[];
  readonly environment: string;
  readonly files: string;
  readonly facade: NestedRequest['facade'];
  /** Only of a group, which compiles its members by itself: the properties of its resource; secrets are sealed. */
  readonly properties: SealableObject;
  readonly members: GroupState | null;
  /** The answer lists the servers inside. */
  readonly shows_servers?: boolean;
}

export const toKept = (kept: StoredNestedRequest): JsonObject => kept as unknown as JsonObject;
export const fromKept = (stored: JsonObject | null): StoredNestedRequest | undefined =>
  (stored ?? undefined) as StoredNestedRequest | undefined;

/** True for the stack of a group, whose template and parameters are made from its properties. */
export const isGroup = ({ group }: Pick<StackDocument, 'group'>): boolean => fromKept(group)?.kind === 'group';

/** The stored parts for an update by the stack around it, with the cooldown that continues. */
export function carried(
  stack: Pick<StackDocument, 'group' | 'completed_at' | 'status'>,
): StoredNestedRequest | undefined {
  const kept = fromKept(stack.group);
  if (!kept?.members) return kept;
  return { ...kept, members: { ...kept.members, cooldown: keptCooldown(kept.members.cooldown, stack) } };
}
