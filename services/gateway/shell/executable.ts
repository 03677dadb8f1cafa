/** The agents that are one file each, as the build wrote them into a folder, with the checksums of that build. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';

const builtFolder = join(import.meta.dirname, '../../agent/executable/dist');

/** @param folder undefined for the folder that `npm run build:agent` fills. */
export function executableRoutes(scope: FastifyInstance, folder = builtFolder): void {
  for (const system of ['linux-amd64', 'linux-arm64']) {
    const name = `anneal-agent-${system}`;
    const missing = (cause: unknown): never => {
      throw new AnnealError(
        'NotFound',
        `This server has no agent for ${system} in ${folder}. Run npm run build:agent on the server, or set ` +
          `ANNEAL_GATEWAY_AGENTS to a folder with ${name} and SHA256SUMS. The agent for every system is at /agent/sh.`,
        { cause },
      );
    };
    scope.get(`/${system}`, async (_request, reply) => {
      const file = join(folder, name);
      const { size } = await stat(file).catch(missing);
      return reply.type('application/octet-stream').header('content-length', size).send(createReadStream(file));
    });
    scope.get(`/${system}.sha256`, async (_request, reply) => {
      const sums = await readFile(join(folder, 'SHA256SUMS'), 'utf8').catch(missing);
      const line = sums.split('\n').find((each) => each.endsWith(`  ${name}`)) ?? missing(undefined);
      return reply.type('text/plain').send(`${line}\n`);
    });
  }
}
