/** The parts that the objects of the identity service share. */
import type { IdentityCaller } from '@anneal/contracts/calls/identity.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Document, Draft } from '@anneal/store/port.ts';
import type { Directory } from '../directory/directory.ts';
import type { Records } from '../directory/records.ts';

export interface IdentityParts {
  readonly directory: Directory;
  readonly secrets: Secrets;
  readonly newId: () => string;
  readonly now: () => Date;
  /** 0 for a project without stacks. A project with stacks cannot be deleted. */
  readonly stacksIn: (project: string) => Promise<number>;
  /** The region of this server. */
  readonly region: string;
}

/** The domain of a new object whose fields name none: that of the caller's scope. */
export const callerDomain = ({ project, domain }: IdentityCaller): string =>
  project?.domain_id ?? domain?.id ?? defaultDomain.id;

/** @throws AnnealError InvalidRequest for the id of a domain that does not exist, in the fields of a new object */
export async function checkDomain({ domains }: Directory, id: string): Promise<void> {
  if (!(await domains.find(id))) throw new AnnealError('InvalidRequest', `Could not find domain: ${id}.`);
}

/** The reason of a conflict: the name is taken in its domain. */
export const takenInDomain = ({ name, domain_id }: { name: string; domain_id: string }): string =>
  `Duplicate entry found with name ${name} at domain ID ${domain_id}.`;

/** The reason of a conflict of ids. */
export const idTaken = 'the id is in use.';

/**
 * Inserts an object with a new id. When it exists, the question is a repeat.
 * @throws AnnealError AlreadyExists when the name is taken
 */
export async function insertNew<T extends Document>(
  records: Records<T>,
  draft: Draft<T>,
  taken: string,
): Promise<void> {
  try {
    await records.insert(draft, taken);
  } catch (error) {
    if (!hasCode(error, 'AlreadyExists') || !(await records.find(draft.id))) throw error;
  }
}

/** Keystone's form has no zone; the time is UTC. */
export function expiryOf(text: string | null, now: Date): string | null {
  if (text === null) return null;
  const time = new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  if (Number.isNaN(time.getTime())) throw new AnnealError('InvalidRequest', 'Timestamp not in expected format.');
  if (time <= now) throw new AnnealError('InvalidRequest', "The 'expires_at' must not be before now.");
  // Keystone keeps microseconds.
  const [, micros = ''] = /\.\d{3}(\d{1,3})/.exec(text) ?? [];
  return time.toISOString().replace('Z', `${micros.padEnd(3, '0')}Z`);
}
