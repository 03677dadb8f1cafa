/** Runs an example as a user does. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { repository } from './server.ts';

const example = (...words: string[]) =>
  promisify(execFile)(process.execPath, [join(repository, 'test/demo/example.ts'), ...words], { cwd: repository });

it('an example runs on a new server, shows its outputs and is deleted', async () => {
  const { stdout } = await example('tools/json-file');
  expect(stdout).toContain('deploy_status_code');
  expect(stdout).toContain('json-file  delete complete');
});

it('an unknown example is refused with the list of examples', async () => {
  await expect(example('tools/nothing')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/There is no example tools\/nothing[^]*tools\/ansible/) as string,
  });
});
