/** What a nested stack keeps, in its document, of the request that made it: enough to be compiled again by itself. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { NestedRequest } from '@anneal/contracts/resource.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { type Cooldown, keptCooldown } from './cooldown.ts';

export interface GroupState {
  /** In the order of the group: by number, by age, or as the servers are written. */
  readonly names: readonly string[];
  /** Never given again. */
  readonly skipped: readonly string[];
  readonly cooldown: Cooldown;
  /** What an instance group makes its instances after. */
  readonly configuration: { readonly properties: JsonObject; readonly metadata: JsonObject } | null;
}

export interface Kept {
  readonly kind: NestedRequest['kind'];
  readonly type: string;
  readonly reads: readonly (readonly Json[])[];
  readonly environment: string;
  readonly files: string;
  readonly facade: NestedRequest['facade'];
  /** Of its resource; what is secret is sealed. */
  readonly properties: JsonObject;
  readonly members: GroupState | null;
}

export const toKept = (kept: Kept): JsonObject => kept as unknown as JsonObject;
export const fromKept = (stored: JsonObject | null): Kept | undefined => (stored ?? undefined) as Kept | undefined;

/** As an update of the stack around it finds it. */
export function carried(stack: Pick<StackDocument, 'group' | 'completed_at' | 'status'>): Kept | undefined {
  const kept = fromKept(stack.group);
  if (!kept?.members) return kept;
  return { ...kept, members: { ...kept.members, cooldown: keptCooldown(kept.members.cooldown, stack) } };
}
