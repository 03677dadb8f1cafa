/** The parts that the kinds of identity resources share. */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Request, Result } from '@anneal/provider/document.ts';
import type { Document, Draft } from '@anneal/store/port.ts';
import type { Records } from '../directory/records.ts';
import type { IdentityParts } from '../objects/parts.ts';

/** A creation or an update. */
export interface WantedObject {
  /** The id of the object, which follows from that of the resource. So a repeat finds the object, and creates no other. */
  readonly id: string;
  readonly request: Request;
  /** In clear text. */
  readonly properties: JsonObject;
  /** The properties before an update; undefined on a creation. */
  readonly before: JsonObject | undefined;
  /** Whether to apply a property: on a creation each, on an update those that change. */
  readonly applies: (property: string) => boolean;
}

/** Serves the resources of one type. */
export interface IdentityKind {
  /** Whether a deletion has something to remove. */
  owns(options: IdentityParts, id: string): Promise<boolean>;
  /** Creates or updates. A repeat has no second effect. */
  apply(options: IdentityParts, wish: WantedObject): Promise<Result>;
  remove(options: IdentityParts, id: string): Promise<void>;
  /** False when a part of it is gone. */
  isWhole(options: IdentityParts, wish: WantedObject): Promise<boolean>;
}

/** The end of an update that needs a new object. */
export const needsNew = (text: string): Result => ({
  kind: 'failed',
  error: new AnnealError('Conflict', text),
  replace: true,
});

/**
 * Inserts an object. One with the same id is that of an earlier attempt; one with the same name belongs to another owner.
 * @throws AnnealError AlreadyExists
 */
export async function insertOwn<T extends Document>(
  records: Records<T>,
  draft: Draft<T>,
  { name, taken }: { name: string; taken: string },
): Promise<void> {
  try {
    await records.insert(draft, taken);
  } catch (error) {
    if (!hasCode(error, 'AlreadyExists')) throw error;
    if (await records.find(draft.id)) return;
    throw new AnnealError(
      'AlreadyExists',
      `Cannot create the ${records.kind} ${name}: one with this name exists, and a stack takes over none. Choose another name, or delete the other one first.`,
      { cause: error },
    );
  }
}
