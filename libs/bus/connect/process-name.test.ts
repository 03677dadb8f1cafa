import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { nameProcess } from './process-name.ts';

describe('the name of a process at the broker', () => {
  it('contains the service, the machine and the process', () => {
    const { connection, replica } = nameProcess('anneal.scheduling');
    expect(connection).toMatch(/^anneal\.scheduling@[A-Za-z0-9-]+-\d+$/);
    expect(connection).toContain(String(process.pid));
    expect(connection).toContain((hostname().split('.')[0] ?? '').slice(0, 10));
    expect(replica).toMatch(/^scheduling\.[A-Za-z0-9-]+-\d+-[0-9a-f]{8}$/);
  });

  it('differs for each process and contains no character that a broker forbids', () => {
    expect(nameProcess('anneal').replica).not.toBe(nameProcess('anneal').replica);
    expect(nameProcess('anneal/te st*>').replica).toMatch(/^te-st-\./);
    expect(nameProcess('anneal').connection).toMatch(/^anneal\.all@/);
  });
});
