/**
 * The agents that are one file each, as the build wrote them into a folder, with the checksums of that build. An agent that
 * was built from other sources than this server's is refused: after an upgrade it would speak the protocol of the older
 * version.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { route, type Route } from '../http/route.ts';

const repository = join(import.meta.dirname, '../../..');
const builtFolder = join(import.meta.dirname, '../../agent/executable/dist');

/** @param folder undefined for the folder that `npm run build:agent` fills. */
export const executableRoutes = (folder = builtFolder): Route[] =>
  (['linux-amd64', 'linux-arm64'] as const).flatMap((system) => {
    const name = `anneal-agent-${system}`;
    const missing = (cause: unknown): never => {
      throw new AnnealError(
        'NotFound',
        `This server has no agent for ${system} in ${folder}. Run npm run build:agent on the server, or set ` +
          `ANNEAL_GATEWAY_AGENTS to a folder with ${name} and SHA256SUMS. The agent for every system is at /agent/sh.`,
        { cause },
      );
    };
    const current = async (file: string): Promise<void> => {
      const changed = await changedSource(`${file}.sources`);
      if (changed === undefined) return;
      throw new AnnealError(
        'NotFound',
        `Cannot serve the agent for ${system} in ${folder}: it was built for another version of this server (${changed}). ` +
          `Run npm run build:agent again. The agent for every system is at /agent/sh.`,
      );
    };
    return [
      route({
        method: 'GET',
        path: `/${system}`,
        summary: `Read the agent for ${system}.`,
        answer: z.string().meta({ format: 'binary' }),
        answerType: 'application/octet-stream',
        handle: async ({ reply }) => {
          const file = join(folder, name);
          const { size } = await stat(file).catch(missing);
          await current(file);
          return reply.type('application/octet-stream').header('content-length', size).send(createReadStream(file));
        },
      }),
      route({
        method: 'GET',
        path: `/${system}.sha256`,
        summary: `Show the checksum of the agent for ${system}, as sha256sum prints it.`,
        answer: z.string(),
        answerType: 'text/plain',
        handle: async () => {
          const sums = await readFile(join(folder, 'SHA256SUMS'), 'utf8').catch(missing);
          await current(join(folder, name));
          const line = sums.split('\n').find((each) => each.endsWith(`  ${name}`)) ?? missing(undefined);
          return `${line}\n`;
        },
      }),
    ];
  });

/** The difference between this server's sources and those that an agent was built from. Undefined: none. */
async function changedSource(list: string): Promise<string | undefined> {
  const text = await readFile(list, 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  if (lines.length === 0) return 'the list of its sources is missing';
  for (const line of lines) {
    const [digest, path = ''] = line.split('  ');
    const content = await readFile(join(repository, path)).catch(() => undefined);
    if (!content) return `${path} is gone`;
    if (createHash('sha256').update(content).digest('hex') !== digest) return `${path} differs`;
  }
  return undefined;
}
