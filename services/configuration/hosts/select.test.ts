import { describe, expect, it } from 'vitest';
import { compileSelection } from './select.ts';

const hosts = [
  { id: '1', name: 'web1', status: 'up', facts: { rack: 'a', cpus: 4, os: { id: 'debian' } } },
  { id: '2', name: 'web2', status: 'silent', facts: { rack: 'b', cpus: 16 } },
  { id: '3', name: 'db', status: 'up', facts: {} },
];
const select = (text: string) => hosts.filter(compileSelection(text)).map(({ name }) => name);

describe('an expression', () => {
  it.each([
    ['facts.rack == "a"', ['web1']],
    ["facts.rack = 'b'", ['web2']],
    ['facts.rack != "a"', ['web2']],
    ['facts.cpus > 2 and facts.cpus <= 8', ['web1']],
    ['facts.os.id == debian', ['web1']],
    ['status == up and not facts.rack == "a"', []],
    ['status = up', ['web1', 'db']],
    ['name =~ "web.*"', ['web1', 'web2']],
    ['name in [db, web1]', ['web1', 'db']],
    ['name.startsWith(web) or status = up', ['web1', 'web2', 'db']],
    ['$.facts.get(rack) = null', ['db']],
    ['facts.name == "x"', []],
    ['true', ['web1', 'web2', 'db']],
    ['facts', []],
  ])('%s selects %j', (text, expected) => {
    expect(select(text)).toEqual(expected);
  });

  it('is refused with the mistake and an example when it cannot be parsed', () => {
    for (const text of ['facts.rack ==', 'facts.rack && true', '', 'x'.repeat(3000)]) {
      expect(() => compileSelection(text)).toThrow(/Cannot select hosts by .*Example: facts.rack == "a"/s);
    }
  });

  it('cannot use more than a share of the machine for one host', () => {
    expect(select('range(0, 100000000).sum() > 0')).toEqual([]);
  });
});
