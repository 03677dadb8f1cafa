import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { damageOf, freezeFile } from './copy.ts';

const countIn = (db: DatabaseSync): unknown => db.prepare('SELECT count(*) AS n FROM t').get()?.['n'];

it('a copy has exactly what was committed when the file was frozen', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-copy-'));
  const db = new DatabaseSync(join(folder, 'a.db'));
  db.exec('PRAGMA journal_mode=WAL; CREATE TABLE t (text)');
  const insert = db.prepare('INSERT INTO t VALUES (?)');
  for (let n = 0; n < 500; n += 1) insert.run('x'.repeat(3000));
  const frozen = freezeFile(join(folder, 'a.db'));
  insert.run('after the freeze');
  const copying = frozen.copyTo(join(folder, 'b.db'));
  insert.run('during the copy');
  await copying;
  frozen.close();
  expect(damageOf(join(folder, 'b.db'))).toBeUndefined();
  const copy = new DatabaseSync(join(folder, 'b.db'));
  expect([countIn(copy), countIn(db)]).toEqual([500, 502]);
  expect(copy.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  await writeFile(join(folder, 'c.db'), 'no database');
  expect(damageOf(join(folder, 'c.db'))).toContain('not a database');
  copy.close();
  db.close();
  await rm(folder, { recursive: true });
});
