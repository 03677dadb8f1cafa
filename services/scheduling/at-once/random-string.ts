/** OS::Heat::RandomString: draws the minimum of each class, and the rest evenly from all distinct characters. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Draw } from './draw.ts';

const lowercase = 'abcdefghijklmnopqrstuvwxyz';
const uppercase = lowercase.toUpperCase();
const digits = '0123456789';
const classes: Readonly<Record<string, string>> = {
  lowercase,
  uppercase,
  digits,
  letters: lowercase + uppercase,
  lettersdigits: lowercase + uppercase + digits,
  hexdigits: `${digits}ABCDEF`,
  octdigits: '01234567',
};

interface Pool {
  readonly characters: string;
  readonly least: number;
}

export function randomString(
  properties: JsonObject,
  draw: Draw,
): { ok: true; value: string } | { ok: false; message: string } {
  const length = Number(properties['length'] ?? 32);
  const pools = poolsOf(properties);
  const sum = pools.reduce((total, { least }) => total + least, 0);
  if (sum > length) {
    return {
      ok: false,
      message: `Length property cannot be smaller than combined character class and character sequence minimums`,
    };
  }
  const all = [...new Set(pools.flatMap(({ characters }) => characters.split('')))];
  if (all.length === 0) return { ok: false, message: 'The character classes and sequences contain no characters.' };
  const drawn = pools.flatMap(({ characters, least }) =>
    Array.from({ length: least }, () => characters.charAt(draw(characters.length))),
  );
  while (drawn.length < length) drawn.push(all[draw(all.length)] as string);
  for (let index = drawn.length - 1; index > 0; index -= 1) {
    const other = draw(index + 1);
    [drawn[index], drawn[other]] = [drawn[other] as string, drawn[index] as string];
  }
  return { ok: true, value: drawn.join('') };
}

function poolsOf(properties: JsonObject): Pool[] {
  const legacy = properties['sequence'];
  if (typeof legacy === 'string' && legacy !== '') return [{ characters: classes[legacy] ?? '', least: 1 }];
  const sequences = itemsOf(properties['character_sequences']).map((item) => ({
    characters: textOf(item['sequence'], ''),
    least: Number(item['min'] ?? 1),
  }));
  const given = properties['character_classes'];
  const fallback: Json = sequences.length > 0 && given === undefined ? [] : [{ class: 'lettersdigits', min: 1 }];
  const named = itemsOf(given ?? fallback).map((item) => ({
    characters: classes[textOf(item['class'], 'lettersdigits')] ?? '',
    least: Number(item['min'] ?? 1),
  }));
  return [...named, ...sequences].filter(({ characters }) => characters !== '');
}

const textOf = (value: Json | undefined, fallback: string): string => (typeof value === 'string' ? value : fallback);

const itemsOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
