/**
 * Access rules of application credentials: the only requests that their tokens may send. Pure functions.
 *
 * A path has the form of Keystone's: `*` and `{name}` represent one part, `**` the rest. It begins behind the address of the
 * service, as in `/v1/{project_id}/stacks` for orchestration.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { fitsWildcards, plainParts, type WildPart } from '@anneal/contracts/readers/wildcard.ts';
import type { AccessRule } from '@anneal/directory/documents.ts';

/** The addresses of the services by their types. The longest come first. */
const services: readonly { readonly type: string; readonly prefix: string }[] = [
  { type: 'orchestration', prefix: '/orchestration' },
  { type: 'messaging', prefix: '/messaging' },
  { type: 'baremetal', prefix: '/baremetal' },
  { type: 'workflowv2', prefix: '/workflow' },
  { type: 'identity', prefix: '/identity' },
  { type: 'image', prefix: '/image' },
  { type: 'api', prefix: '/api' },
  // The queues are also served at the root, for clients that resolve addresses against the host.
  { type: 'messaging', prefix: '' },
];

/** A program always reads and ends its own token, and reads the catalog. */
const always: ReadonlySet<string> = new Set([
  'GET /identity/v3/auth/tokens',
  'HEAD /identity/v3/auth/tokens',
  'DELETE /identity/v3/auth/tokens',
  'GET /identity/v3/auth/catalog',
]);

const parts = /\*\*|\*|\{[^}]*\}|[^*{]+|\{/g;

/** No address of the APIs is as long. Comparing a longer one with all rules would delay other requests. */
const longestPath = 2048;

const anything: WildPart<string> = { fits: () => true, repeats: true };
const inPart = (character: string): boolean => character !== '/';
const onePart: WildPart<string>[] = [
  { fits: inPart, repeats: false },
  { fits: inPart, repeats: true },
];

const partsIn = (pattern: string): WildPart<string>[] =>
  [...pattern.matchAll(parts)].flatMap(([part]) => {
    if (part === '**') return [anything];
    return part === '*' || (part.startsWith('{') && part.endsWith('}')) ? onePart : plainParts(part);
  });

/** Whether the rules allow a request for this path, as it was sent. */
export function allowedByRules(
  rules: readonly Pick<AccessRule, 'service' | 'method' | 'path'>[],
  { method, path }: { method: string; path: string },
): boolean {
  if (always.has(`${method} ${path}`)) return true;
  const found = services.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
  if (!found) return false;
  const below = path.slice(found.prefix.length);
  if (below.length > longestPath) return false;
  return rules.some(
    (rule) => rule.service === found.type && rule.method === method && fitsWildcards(partsIn(rule.path), below),
  );
}

/** @throws AnnealError Forbidden for a request that the rules of an application credential do not allow */
export function requireRule(
  credential: { readonly name: string; readonly access_rules?: readonly AccessRule[] } | undefined,
  request: { method: string; path: string },
): void {
  const { access_rules: rules } = credential ?? {};
  if (!rules || allowedByRules(rules, request)) return;
  const listed = rules.map(({ method, service, path }) => `${method} ${service} ${path}`).join(', ');
  throw new AnnealError(
    'Forbidden',
    `The access rules of the application credential ${credential?.name} do not allow ${request.method} ${request.path}. They allow ${listed}.`,
  );
}
