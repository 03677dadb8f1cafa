/** Derives the name of a host from its server. Pure. */
import { hostNameProblem, serverNameProblem } from '@anneal/contracts/host-name.ts';

/** A server by its type, the name in its template, and the name made of its stack and resource. */
interface NamedServer {
  readonly type: string;
  /** Empty: the template gives none. */
  readonly name: string;
  readonly physicalName: string;
}

const isMachine = (type: string): boolean => type === 'OS::Heat::DeployedServer';

/** The rule that the name in the template breaks. Undefined for a valid name, and without one. */
export function nameProblem({ type, name }: Pick<NamedServer, 'type' | 'name'>): string | undefined {
  if (name === '') return undefined;
  return isMachine(type) ? hostNameProblem(name) : serverNameProblem(name);
}

/**
 * The name of a deployed server is that of its machine, and stays as written. The name of a Nova server is free, and
 * its host gets a DNS label of it, by the rule of Nova. Only a name that the template does not give is shortened.
 */
export function hostnameOf({ type, name, physicalName }: NamedServer): string {
  if (!isMachine(type)) return novaLabel(name) || generatedLabel(physicalName);
  return name !== '' && hostNameProblem(name) === undefined ? name : generatedLabel(physicalName);
}

const longestLabel = 63;
const letters = (text: string): string => text.normalize('NFKD').toLowerCase();
const trimmed = (text: string): string => text.replace(/^-+|-+$/g, '');

/**
 * Nova's label of a display name: blanks, underscores and dots become hyphens, and the first 63 characters stay. Nova
 * keeps accented letters, which a DNS label cannot have: here they lose the accent.
 */
function novaLabel(name: string): string {
  const label = letters(name)
    .replaceAll(/[\s_.]+/g, '-')
    .replaceAll(/[^a-z0-9-]+/g, '');
  return trimmed(trimmed(label).slice(0, longestLabel));
}

/** A DNS label (RFC 1123) that keeps the end, where physical names differ. */
function generatedLabel(name: string): string {
  const label = trimmed(letters(name).replaceAll(/[^a-z0-9-]+/g, '-'));
  return trimmed(label.slice(-longestLabel)) || 'host';
}
