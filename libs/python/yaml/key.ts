/** Keys of maps: words at the top levels, any scalar below. */
import { type ExactKey, keyText } from '../values/record.ts';
import { type YamlNode, toExact } from './node.ts';
import { YamlError } from './token.ts';

/** @throws YamlError for an invalid key. */
export function entryKey(
  key: YamlNode,
  { depth, offset, word }: { depth: number; offset: number; word: string },
): { readonly name: string; readonly key?: ExactKey } {
  if (key.kind !== 'scalar') throw new YamlError('a key must be a word, not a list or a map', offset);
  if (typeof key.value === 'string') return { name: key.value };
  const exact = toExact(key) as ExactKey;
  // Deeper keys are data and keep their type. The name of a section must be a word.
  if (depth > 1) return { name: keyText(exact), key: exact };
  const kind = typeof key.value === 'boolean' ? `the boolean ${key.value}` : key.value === null ? 'null' : 'a number';
  throw new YamlError(`the key ${word || '(nothing)'} is ${kind} in YAML 1.1; put it in quotes`, offset);
}
