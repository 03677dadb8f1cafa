import { describe, expect, it } from 'vitest';
import { contextContent, differenceOf, inputsFor, nextData, noData, readMembers } from './data.ts';

const host = (id: string, facts = {}, status: 'up' | 'silent' | 'deleting' = 'up') => ({
  id,
  name: `name-${id}`,
  status,
  facts,
});

describe('the members of a context', () => {
  it('are one id, a list or a map by role; a host may have several roles', () => {
    const property = { head: 'a', compute: ['b', 'a', 'b'], login: { x: 'c' }, none: [], empty: null };
    expect(readMembers(property)).toEqual([
      { host: 'a', roles: ['head', 'compute'] },
      { host: 'b', roles: ['compute'] },
      { host: 'c', roles: ['login'] },
    ]);
  });
});

describe('the data of a context', () => {
  const spec = { members: readMembers({ head: 'b', compute: ['a', 'gone'] }), facts: ['rack'] };

  it('has the chosen facts, and names and addresses by role; deleted hosts are left out', () => {
    const hosts = [
      host('b', { address: '10.0.0.2', addresses: ['192.0.2.1'], rack: 'r1', load: 3 }),
      host('a', { addresses: ['10.0.0.1', 'fd00::1'] }, 'silent'),
      host('gone', {}, 'deleting'),
    ];
    expect(contextContent(spec, hosts)).toEqual({
      members: [
        {
          name: 'name-a',
          host: 'a',
          roles: ['compute'],
          state: 'silent',
          address: '10.0.0.1',
          addresses: ['10.0.0.1', 'fd00::1'],
          facts: {},
        },
        {
          name: 'name-b',
          host: 'b',
          roles: ['head'],
          state: 'up',
          address: '10.0.0.2',
          addresses: ['192.0.2.1'],
          facts: { rack: 'r1' },
        },
      ],
      names: { head: ['name-b'], compute: ['name-a'] },
      addresses: { head: ['10.0.0.2'], compute: ['10.0.0.1'] },
    });
  });

  it('G1: is a new version when a member or a chosen fact changed, and not otherwise', () => {
    const before = nextData(noData, contextContent(spec, [host('a', { rack: 'r1' }), host('b')]));
    if (!before) throw new Error('no first version');
    expect(before.version).toBe(1);
    expect(nextData(before, contextContent(spec, [host('b', { load: 1 }), host('a', { rack: 'r1' })]))).toBeUndefined();
    const after = nextData(before, contextContent(spec, [host('a', { rack: 'r2' })]));
    expect(after?.version).toBe(2);
    expect(after && differenceOf(before, after)).toEqual({ joined: [], left: ['name-b'], changed: ['name-a'] });
  });

  it('has a first version without members', () => {
    expect(nextData(noData, contextContent({ members: [], facts: [] }, []))?.version).toBe(1);
  });

  it('reaches a config as JSON, and as lines for scripts without a JSON parser', () => {
    const data = nextData(noData, contextContent(spec, [host('b', { address: '10.0.0.2' }), host('a')]));
    const me = data?.members[0];
    if (!data || !me) throw new Error('no data');
    expect(inputsFor(data, me)).toEqual({
      context: data,
      context_version: 1,
      context_name: 'name-a',
      context_roles: 'compute',
      context_members: 'name-a - compute up\nname-b 10.0.0.2 head up\n',
    });
  });
});
