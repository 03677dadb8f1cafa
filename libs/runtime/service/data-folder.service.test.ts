import { mkdir, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { explainStart } from './start-failure.ts';
import { startServices } from './serve.ts';

let parent: string;
let data: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'anneal-start-'));
  data = join(parent, 'data');
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const log = pino({ level: 'silent' });
const key = Buffer.alloc(32, 3).toString('base64');

async function start(environment: Record<string, string> = {}): Promise<void> {
  const running = await startServices({ services: [], environment: { ANNEAL_DATA: data, ...environment }, log });
  await running.stop();
}
const refusal = (environment: Record<string, string> = {}): Promise<string> =>
  start(environment).then(() => 'it started', explainStart);
const damage: { [what: string]: (file: string) => Promise<unknown> } = {
  removed: (file) => rm(file),
  emptied: (file) => truncate(file, 0),
};

describe('a start in a data folder', () => {
  it.each(['store.db', 'bus.db', 'keys'].flatMap((name) => Object.keys(damage).map((what) => [name, what])))(
    'F1: is refused when %s was %s, and names the file',
    async (name, what) => {
      await start();
      for (const suffix of name.endsWith('.db') ? ['-wal', '-shm'] : [])
        await rm(join(data, name + suffix), { force: true });
      await damage[what]?.(join(data, name));
      const text = await refusal();
      expect(text).toContain(`The file ${join(data, name)} is missing or empty`);
      expect(text.trim().split('\n')).toHaveLength(1);
    },
  );

  it('F2: is refused also in a folder from an older version', async () => {
    await start();
    await rm(join(data, 'installation.json'));
    await truncate(join(data, 'store.db'), 0);
    expect(await refusal()).toContain(`The file ${join(data, 'store.db')} is missing or empty beside keys and bus.db`);
    await rm(data, { recursive: true });
    await start();
    await rm(join(data, 'installation.json'));
    await rm(join(data, 'keys'));
    expect(await refusal()).toContain(`The file ${join(data, 'keys')} is missing`);
    await expect(stat(join(data, 'keys'))).rejects.toThrow('ENOENT');
  });

  it('is refused without the key that sealed the stored secrets, and succeeds with both keys', async () => {
    await start();
    expect(await refusal({ ANNEAL_KEYS: key })).toMatch(/sealed with key \w+, but ANNEAL_KEYS contains only/);
    await writeFile(join(data, 'keys'), `${key}\n`);
    expect(await refusal()).toContain(`Add the missing key to ${join(data, 'keys')} again`);
  });

  it('succeeds after the first start was killed halfway', async () => {
    await mkdir(data);
    await writeFile(join(data, 'keys'), `${key}\n`);
    await writeFile(join(data, 'store.db'), '');
    await start();
    await start();
  });

  it('creates files that only their owner can read, whatever the mode of the folder', async () => {
    await mkdir(data, { mode: 0o755 });
    await start();
    for (const name of ['store.db', 'bus.db', 'keys', 'installation.json']) {
      expect((await stat(join(data, name))).mode & 0o777, name).toBe(0o600);
    }
  });

  it('reports a wrong folder in one line without a stack trace', async () => {
    await writeFile(join(parent, 'file'), '');
    await mkdir(join(parent, 'other'));
    await writeFile(join(parent, 'other', 'index.html'), '');
    await mkdir(join(parent, 'odd', 'store.db'), { recursive: true });
    await writeFile(join(parent, 'odd', 'keys'), `${key}\n`);
    await mkdir(join(parent, 'bad'));
    await writeFile(join(parent, 'bad', 'keys'), `${key}\n`);
    await writeFile(join(parent, 'bad', 'store.db'), 'this is not a database of anybody'.repeat(200));
    const cases: [folder: string, says: RegExp][] = [
      ['file', /must be a folder, but it is a file.*Set --data or ANNEAL_DATA to a folder/],
      ['file/below', /must be a folder, but it is a file|ENOTDIR/],
      ['other', /holds files of another program \(index\.html\).*Set --data or ANNEAL_DATA to an empty folder/],
      ['odd', /must be a file, but it is a folder/],
      ['bad', /store\.db is damaged.*Restore the whole data folder/],
    ];
    for (const [folder, says] of cases) {
      data = join(parent, folder);
      const text = await refusal();
      expect(text).toMatch(says);
      expect(text).not.toMatch(/\n\s+at |Defect|it is tried again/);
      expect(text.trim().split('\n'), text).toHaveLength(1);
    }
  });

  it('is refused while another process serves the folder', async () => {
    const running = await startServices({ services: [], environment: { ANNEAL_DATA: data }, log });
    expect(await refusal()).toMatch(/is in use: process \d+ serves it.*Stop that process/);
    await running.stop();
  });
});
