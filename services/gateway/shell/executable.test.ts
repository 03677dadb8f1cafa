/** Serves the agents that are one file each. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { default as fastify, type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { executableRoutes } from './executable.ts';

let folder: string;
let server: FastifyInstance;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anneal-agents-'));
  server = fastify();
  executableRoutes(server, folder);
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

it('serves an agent in full with its line of the checksums', async () => {
  writeFileSync(join(folder, 'anneal-agent-linux-arm64'), 'a program');
  writeFileSync(join(folder, 'SHA256SUMS'), '00  anneal-agent-linux-amd64\n11  anneal-agent-linux-arm64\n');
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
