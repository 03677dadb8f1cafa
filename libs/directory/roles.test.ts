import { describe, expect, it } from 'vitest';
import type { Grant, RoleDocument } from './documents.ts';
import { countsIn, withImplied, type RoleScope } from './roles.ts';

const grant = (on: Grant['on'], id: string, inherited = false): Grant => ({ role_id: 'r', on, id, inherited });
const child: RoleScope = { on: 'project', id: 'child', above: ['parent'], domain: 'd' };

describe('a grant', () => {
  it.each([
    ['on the project', grant('project', 'child'), true],
    ['on another project', grant('project', 'other'), false],
    ['on the project above', grant('project', 'parent'), false],
    ['inherited from the project above', grant('project', 'parent', true), true],
    ['inherited from the project itself', grant('project', 'child', true), false],
    ['on the domain', grant('domain', 'd'), false],
    ['inherited from the domain', grant('domain', 'd', true), true],
    ['inherited from another domain', grant('domain', 'e', true), false],
    ['on the system', grant('system', 'all'), false],
  ])('%s counts in a project: %s', (_, given, counts) => {
    expect(countsIn(given, child)).toBe(counts);
  });

  it('of the domain counts in the domain only when it is not inherited', () => {
    expect(countsIn(grant('domain', 'd'), { on: 'domain', id: 'd' })).toBe(true);
    expect(countsIn(grant('domain', 'd', true), { on: 'domain', id: 'd' })).toBe(false);
    expect(countsIn(grant('system', 'all'), { on: 'system' })).toBe(true);
  });
});

describe('implied roles', () => {
  const role = (id: string, ...implies: string[]): [string, RoleDocument] => [
    id,
    { id, version: 1, name: id, description: null, domain_id: '', implies, extra: {} },
  ];
  const all = new Map([role('a', 'b'), role('b', 'c'), role('c', 'a'), role('d')]);

  it('are found at any depth and once, also in a circle', () => {
    expect(withImplied(['a'], all).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(withImplied(['d', 'd'], all).map(({ id }) => id)).toEqual(['d']);
  });

  it('are nothing for a role that was deleted', () => {
    expect(withImplied(['gone'], all)).toEqual([]);
  });
});
