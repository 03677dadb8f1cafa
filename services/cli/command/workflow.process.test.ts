import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'anneal-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  [['create', 'none.yaml'], /Cannot read none\.yaml: there is no such file/],
  [['create', '.'], /Cannot read \.: it is a folder/],
  [['start', 'w', '--input-file', 'none.json'], /Cannot read none\.json: there is no such file/],
])('anneal workflow %j names the file that it cannot read, with status 2', (words, message) => {
  const main = join(import.meta.dirname, '..', 'main.ts');
  const { status, stderr } = spawnSync(process.execPath, [main, 'workflow', ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
  });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(message) as unknown });
  expect(stderr).not.toContain('Defect');
});
