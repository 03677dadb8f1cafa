/** A test sees each property of each type act: the run of the table, or the one that the table names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtInTypes } from '@anneal/hot/served.ts';
import { expect, it } from 'vitest';
import { lacksOf, propertyPaths } from './effects.ts';
import { entries } from './table.ts';

it('the table has an entry for each type and no other', () => {
  expect(Object.keys(entries).toSorted()).toEqual(builtInTypes.map(({ type }) => type).toSorted());
});

/**
 * The run of the table shows that the records differ without the property or key. Where they cannot show it, or show only
 * what the provider keeps, the table names a test.
 */
it.each(builtInTypes)('a test sees each property of $type act', (type) => {
  const entry = entries[type.type] ?? { values: {} };
  const { seen = {}, keeps, fixed = {}, values } = entry;
  expect([...Object.keys(values), ...Object.keys(fixed)].toSorted()).toEqual(Object.keys(type.properties).toSorted());
  const acting = propertyPaths(type.properties).flatMap(({ path, acts }) => (acts ? [path] : []));
  const named = [seen, keeps ?? {}].flatMap(Object.keys);
  const tried = lacksOf(type, entry).map(({ path }) => path);
  expect(acting.filter((path) => !Object.hasOwn(seen, path) && !tried.includes(path))).toEqual([]);
  expect(keeps ? acting.filter((path) => !named.includes(path)) : []).toEqual([]);
  expect(named.filter((path) => !acting.includes(path))).toEqual([]);
});

it('each named test uses the property', () => {
  const unused = Object.entries(entries).flatMap(([type, { seen, keeps }]) =>
    Object.entries({ ...keeps, ...seen }).flatMap(([path, file]) => {
      const [last = ''] = /[^.[\]]+(?=\W*$)/.exec(path) ?? [];
      const text = readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');
      return new RegExp(`(?<![\\w-])${last}(?![\\w-])`).test(text) ? [] : `${file}: ${path} of ${type}`;
    }),
  );
  expect(unused).toEqual([]);
});
