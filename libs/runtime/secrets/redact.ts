/**
 * Removes secrets from the texts that people read: errors, reasons, the standard error of scripts. A program that fails
 * may quote any value that it was given. Pure.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { contentsOf, type Secrets } from './secrets.ts';

/** Replaces each secret in output. */
export const redaction = '******';
/**
 * A shorter secret occurs in ordinary words, so its removal would destroy the text and show where it occurs. The
 * evaluation of a template does not need this search: it quotes no value of hidden origin (`Scope.isHidden`).
 */
const leastLength = 4;

/** Removes from every text in a value what the seals in `sources` contain, also in the forms of URLs, JSON and base64. */
export function createRedactor(secrets: Pick<Secrets, 'replaceSeals'>, sources: Json): <T>(value: T) => T {
  const forms = formsOf(textsIn(contentsOf(secrets, sources)));
  return forms.length === 0 ? (value) => value : (value) => redactValue(value as Json, forms) as typeof value;
}

/**
 * Seals each text and number of a value that quotes a secret, and each object whole that has a secret as a name. So
 * templates still read the value, and everybody else sees that it is hidden. A value without quotes is equal.
 */
export function sealQuotes(
  secrets: Pick<Secrets, 'seal' | 'isSealed'>,
  value: Json,
  quotes: { readonly isSecret: (text: string) => boolean; readonly isSecretName: (name: string) => boolean },
): Json {
  const visit = (each: Json): Json => {
    if (typeof each === 'string' || typeof each === 'number') {
      return quotes.isSecret(String(each)) ? secrets.seal(each) : each;
    }
    if (Array.isArray(each)) return each.map(visit);
    if (!isObject(each) || secrets.isSealed(each)) return each;
    if (Object.keys(each).some(quotes.isSecretName)) return secrets.seal(each);
    return toRecord(Object.entries(each).map(([name, item]) => [name, visit(item)]));
  };
  return visit(value);
}

/** Removes these secrets from a text. */
export const redactText = (text: string, secrets: readonly string[]): string => replaceAll(text, formsOf(secrets));

function redactValue(value: Json, forms: readonly string[]): Json {
  if (typeof value === 'string') return replaceAll(value, forms);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, forms));
  if (!isObject(value)) return value;
  return toRecord(Object.entries(value).map(([name, item]) => [replaceAll(name, forms), redactValue(item, forms)]));
}

/**
 * Removes from a text also each word of what the seals in `sources` contain. A shell that cannot run a line quotes a
 * word of it. When a hidden value is written into a script, the whole script is sealed, so any word may be the secret.
 */
export function createWordRedactor(secrets: Pick<Secrets, 'replaceSeals'>, sources: Json): (text: string) => string {
  const found = textsIn(contentsOf(secrets, sources));
  const forms = formsOf(found);
  const known = new Set(found.flatMap((text) => [...wordsOf(text, words), ...wordsOf(text, pieces)]));
  if (known.size === 0 && forms.length === 0) return (text) => text;
  const replaceKnown = (word: string): string | undefined => {
    const bare = bareOf(word);
    return known.has(bare) ? word.replace(bare, () => redaction) : undefined;
  };
  return (text) =>
    replaceAll(text, forms).replace(
      words,
      (word) => replaceKnown(word) ?? word.replace(pieces, (piece) => replaceKnown(piece) ?? piece),
    );
}

/** Runs of characters between blanks, quotes and operators of a shell. */
const words = /[^\s"'`\\;|&<>(){}[\]$,]+/gu;
/** The parts of such a run, for example of an address or of an assignment. */
const pieces = /[^\s"'`\\;|&<>(){}[\]$,:=/@?#]+/gu;
const bareOf = (word: string): string => word.replace(/^[:.=]+/, '').replace(/[:.=]{1,8}$/, '');
const wordsOf = (text: string, pattern: RegExp): string[] =>
  (text.match(pattern) ?? []).map(bareOf).filter((word) => word.length >= leastLength && word !== redaction);

const replaceAll = (text: string, forms: readonly string[]): string =>
  forms.reduce((rest, form) => rest.replaceAll(form, () => redaction), text);

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** The longest first, because one secret may be a part of another. */
function formsOf(secrets: readonly string[]): string[] {
  const texts = secrets.flatMap((text) => [text, ...text.split(/\r?\n/)]).map((text) => text.trim());
  const forms = texts.flatMap((text) =>
    text.length < leastLength || !text.isWellFormed()
      ? []
      : [text, encodeURIComponent(text), JSON.stringify(text).slice(1, -1), Buffer.from(text).toString('base64')],
  );
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}
