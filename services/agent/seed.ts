/**
 * The seed of this host: from a file, or from a boot address in exchange for the secret in it.
 *
 * The key of the exchange is on disk before it is sent, and the seed before it is used. An agent that dies between the
 * two repeats the exchange with the same key. An agent that starts later needs no exchange.
 */
import { fetchOwn } from './fetch-own.ts';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bootSeedSchema, type BootSeed } from '@anneal/contracts/calls/boot.ts';
import { z } from 'zod';
import { RefusedError } from './connection.ts';
import type { Log } from './log.ts';
import { untilDone } from './patience.ts';

export async function readSeed(options: {
  place: string;
  directory: string;
  log: Log;
  signal: AbortSignal;
}): Promise<BootSeed> {
  const { place } = options;
  return /^https?:/.test(place) ? exchanged(options) : seedIn(readFileSync(place, 'utf8'), place);
}

/** The seed as its file has it now. Undefined while it cannot be read: an operator may be writing it. */
export function rereadSeed({ place, directory }: { place: string; directory: string }): BootSeed | undefined {
  const file = /^https?:/.test(place) ? exchangedFile(place, directory) : place;
  try {
    return seedIn(readFileSync(file, 'utf8'), file);
  } catch {
    return undefined;
  }
}

const nameOf = (place: string): string => createHash('sha256').update(place).digest('hex').slice(0, 16);
const exchangedFile = (place: string, directory: string): string => join(directory, `seed.${nameOf(place)}.json`);

async function exchanged(options: {
  place: string;
  directory: string;
  log: Log;
  signal: AbortSignal;
}): Promise<BootSeed> {
  const { place, directory, log, signal } = options;
  mkdirSync(directory, { recursive: true });
  // The folder may hold the seed of another host, from an earlier boot address.
  const file = exchangedFile(place, directory);
  const known = read(file);
  if (known !== undefined) return seedIn(known, file);
  const keyFile = join(directory, `boot-key.${nameOf(place)}`);
  const key = read(keyFile) ?? randomBytes(24).toString('base64url');
  write(keyFile, key);
  const url = `${place.replace(/\/$/, '')}/exchange`;
  const text = await untilDone(
    async () => {
      const response = await fetchOwn(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ key }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
      });
      const body = await response.text();
      if (!response.ok) {
        throw new RefusedError(
          response.status,
          `The exchange at ${new URL(url).origin} answered ${response.status}: ${body.slice(0, 1_000)}`,
        );
      }
      return body;
    },
    { signal, log, what: 'exchanging the boot secret for the seed' },
  );
  const seed = seedIn(text, place);
  write(file, text);
  return seed;
}

function seedIn(text: string, place: string): BootSeed {
  const parsed = bootSeedSchema.safeParse(text.trimStart().startsWith('{') ? JSON.parse(text) : joinedSeed(text));
  if (!parsed.success) throw new Error(`${place} is not a seed.\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** The seed in the settings of a joined host, which has one setting in each line. */
function joinedSeed(text: string): Record<string, unknown> {
  const settings = new Map(text.split('\n').map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]));
  return {
    format: 1,
    purpose: 'deploy',
    host_id: settings.get('host'),
    hostname: settings.get('name'),
    gateway_url: settings.get('url'),
    project: settings.get('project'),
    token: settings.get('token'),
    requests_queue: settings.get('requests_queue'),
    responses_queue: settings.get('responses_queue'),
    // A request that the sh agent has claimed is handed to this agent at once.
    client_id: settings.get('client') || undefined,
    user_data: '',
    metadata: {},
  };
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes the file atomically, readable by this user only. */
function write(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
