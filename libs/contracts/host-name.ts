/** The names of hosts and servers: which are valid, and which mean the same host. Pure. */
import { AnnealError } from './errors.ts';
import { isPlainName } from './plain-name.ts';

const longestHostName = 253;
const longestServerName = 255;
const part = /^(?!-)[\w-]{1,63}(?<!-)$/;

/**
 * The rule that a text breaks as the name of a host. Undefined for a name of DNS, in which underscores count as letters,
 * because machines have such names.
 */
export function hostNameProblem(name: string): string | undefined {
  if (name.length > longestHostName) return `a host name has at most ${longestHostName} characters`;
  if (name.split('.').every((each) => part.test(each))) return undefined;
  return 'a host name consists of parts of 1 to 63 letters (a to z), digits, hyphens and underscores, joined by dots, and no part begins or ends with a hyphen';
}

/** The rule of Nova that a text breaks as the name of a server. Undefined for a valid name. */
export function serverNameProblem(name: string): string | undefined {
  if (Array.from(name).length > longestServerName)
    return `the name of a server has at most ${longestServerName} characters`;
  if (isPlainName(name) && name.trim() === name) return undefined;
  return 'the name of a server has no control character, and does not begin or end with a blank';
}

/** Equal for names that mean the same host: the case of letters does not count, as in DNS. */
export const hostNameKey = (name: string): string => name.toLowerCase();

/**
 * Picks the spelling that a name means, of those of hosts that differ from it only in the case of letters. Undefined
 * when there is none.
 * @throws AnnealError InvalidRequest when there are several
 */
export function spellingOf(name: string, spellings: Iterable<string>): string | undefined {
  const [only, ...others] = new Set(spellings);
  if (only === undefined || others.length === 0) return only;
  const found = [only, ...others].toSorted();
  const shown = found.length > 3 ? `${found.slice(0, 3).join(', ')} and others` : found.join(' and ');
  const message = `There is no host ${name}, and ${shown} differ from it only in the case of letters. Write one of them.`;
  throw new AnnealError('InvalidRequest', message, {
    mistakes: [{ code: 'AmbiguousName', path: 'host', message, found: name }],
  });
}

const letters = (name: string): string => hostNameKey(name).replaceAll(/[^a-z0-9]/g, '');
const firstPart = (name: string): string => name.split('.', 1)[0] ?? '';

/** True for names that a person may confuse: without dots and hyphens they are equal, or one is the short form of the other. */
export function areSimilarHostNames(one: string, other: string): boolean {
  if (letters(one) === letters(other)) return true;
  const isShort = one.includes('.') !== other.includes('.');
  return isShort && letters(firstPart(one)) === letters(firstPart(other));
}
