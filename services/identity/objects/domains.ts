/** Domains: separate sets of users and projects. */
import { domainFields } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { DomainDocument } from '@anneal/directory/documents.ts';
import { authorize } from '@anneal/directory/policy.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import { decidedByKind, patch, serveKind, type ObjectQuestion, type ServedKind } from './kind.ts';
import { insertNew, type IdentityParts } from './parts.ts';
import { removeDomain } from './removal.ts';

/** The reason of a conflict: the name is that of another domain. */
export const domainTaken = (name: string): string =>
  `it is not permitted to have two projects acting as domains with the same name: ${name}.`;

/** Serves the domains. */
export const domainObjects = (parts: IdentityParts): ServedKind =>
  serveKind({
    title: 'domain',
    fields: domainFields,
    records: parts.directory.domains,
    rules: { ...decidedByKind, update: 'update_domain', delete: 'delete_domain' },
    target: ({ id }) => ({ domainId: id }),
    fixed: ({ id }) => ({ id }),
    create: (given, question) => createDomain(parts, question, given),
    change: (given, { id }) => changeDomain(parts, id, given),
    remove: (domain) => deleteDomain(parts, domain),
  });

interface DomainFields {
  readonly description?: string | null;
  readonly enabled?: boolean;
  readonly tags?: readonly string[];
  readonly extra: JsonObject;
}

/** @throws AnnealError Forbidden for a caller without the right, AlreadyExists when the name is taken */
export async function createDomain(
  { directory: { domains } }: IdentityParts,
  { caller, id }: ObjectQuestion,
  { name, description, enabled = true, tags = [], extra }: DomainFields & { readonly name: string },
): Promise<void> {
  authorize('create_domain', caller, {});
  const draft = { id, name, description: description ?? '', enabled, tags, extra };
  await insertNew(domains, draft, domainTaken(name));
}

/** @throws AnnealError Forbidden for disabling the default domain, AlreadyExists */
export async function changeDomain(
  { directory: { domains } }: IdentityParts,
  id: string,
  change: DomainFields & { readonly name?: string },
): Promise<void> {
  if (id === defaultDomain.id && change.enabled === false) {
    throw new AnnealError('Forbidden', 'Cannot disable the default domain.');
  }
  await patch(domains, { id, taken: domainTaken(change.name ?? '') }, change);
}

/** @throws AnnealError Forbidden for a domain that is enabled */
export async function deleteDomain(parts: IdentityParts, { id, enabled }: DomainDocument): Promise<void> {
  if (enabled) {
    throw new AnnealError('Forbidden', 'Cannot delete a domain that is enabled, please disable it first.');
  }
  await removeDomain(parts, id);
}
