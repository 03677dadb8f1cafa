/** Serves the agents that are one file each. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { default as fastify, type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { serveRoutes } from '../http/serve-routes.ts';
import { executableRoutes } from './executable.ts';

let folder: string;
let server: FastifyInstance;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anneal-agents-'));
  server = fastify();
  serveRoutes(server, executableRoutes(folder));
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const source = 'services/agent/main.ts';
const digestOf = (path: string): string =>
  createHash('sha256')
    .update(readFileSync(join(import.meta.dirname, '../../..', path)))
    .digest('hex');
/** The list of sources that the build writes beside the agent. */
const builtFrom = (...lines: string[]): void =>
  writeFileSync(join(folder, 'anneal-agent-linux-arm64.sources'), lines.map((line) => `${line}\n`).join(''));

it('serves an agent in full with its line of the checksums', async () => {
  writeFileSync(join(folder, 'anneal-agent-linux-arm64'), 'a program');
  writeFileSync(join(folder, 'SHA256SUMS'), '00  anneal-agent-linux-amd64\n11  anneal-agent-linux-arm64\n');
  builtFrom(`${digestOf(source)}  ${source}`);
  const program = await server.inject('/linux-arm64');
  expect(program).toMatchObject({ statusCode: 200, body: 'a program' });
  expect(program.headers).toMatchObject({ 'content-length': '9', 'content-type': 'application/octet-stream' });
  expect((await server.inject('/linux-arm64.sha256')).body).toBe('11  anneal-agent-linux-arm64\n');
});

it('says how to build an agent that is not in the folder', async () => {
  writeFileSync(join(folder, 'SHA256SUMS'), '');
  for (const path of ['/linux-amd64', '/linux-amd64.sha256']) {
    const answer = await server.inject(path);
    expect(answer.json()).toMatchObject({ message: expect.stringContaining('npm run build:agent') });
    expect(answer.json()).toMatchObject({ message: expect.stringContaining(folder) });
  }
});

it.each<[string, () => void]>([
  ['a source differs', () => builtFrom(`${digestOf('package.json')}  ${source}`)],
  ['a source is gone', () => builtFrom(`${digestOf(source)}  services/agent/older.ts`)],
  ['the list of its sources is missing', () => undefined],
])('refuses an agent that another version built: %s', async (_what, build) => {
  writeFileSync(join(folder, 'anneal-agent-linux-arm64'), 'a program');
  writeFileSync(join(folder, 'SHA256SUMS'), '11  anneal-agent-linux-arm64\n');
  build();
  for (const path of ['/linux-arm64', '/linux-arm64.sha256']) {
    const answer = await server.inject(path);
    expect(answer.statusCode).toBe(404);
    expect(answer.body).not.toContain('a program');
    expect(answer.json()).toMatchObject({ message: expect.stringContaining('npm run build:agent again') as string });
  }
});
