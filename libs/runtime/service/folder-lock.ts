/**
 * One server per data folder.
 *
 * L1. Taking the lock is one atomic link: of two starts at once, one gets it.
 * L2. A lock is valid while its process lives. The next start recognises the lock of a killed process, even when
 *     another process got its number, because the lock contains the start time of its process. It also recognises a
 *     process that has ended but keeps its number because its parent has not asked how it ended, as in a container
 *     whose first process never does.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { refuseForeign } from './data-folder.ts';

const holderSchema = z.object({ pid: z.number().int().positive(), started: z.string(), url: z.string().optional() });
type Holder = z.infer<typeof holderSchema>;

/** The lock that this process holds. */
export interface Lock {
  /** Records the server's address, for the error of a start that finds the folder locked. */
  announce(url: string): Promise<void>;
  release(): Promise<void>;
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** @throws AnnealError Conflict that names the holder. */
export async function lockDataFolder(parameters: { folder: string }): Promise<Lock> {
  const { folder } = parameters;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await refuseForeign(folder);
  const file = join(folder, 'server.lock');
  // One file for each attempt, because attempts of one process may be concurrent.
  const own = join(folder, `server.lock.${process.pid}.${randomUUID()}`);
  const holder: Holder = { pid: process.pid, started: await startOf(process.pid) };
  await writeFile(own, JSON.stringify(holder), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      try {
        await link(own, file); // L1
        return {
          release: () => rm(file, { force: true }),
          async announce(url) {
            await writeFile(own, JSON.stringify({ ...holder, url }), { mode: 0o600 });
            await rename(own, file);
          },
        };
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text === undefined) continue;
      const other = parse(text);
      if (other && (await isAlive(other))) throw taken(folder, other);
      await discard(file, text);
    }
    throw new AnnealError(
      'Conflict',
      `Cannot lock the data folder ${folder}: other processes are starting at the same time.`,
    );
  } finally {
    await rm(own, { force: true });
  }
}

/** Removes only the lock that was judged stale, because another start may just have replaced it. */
async function discard(file: string, judged: string): Promise<void> {
  const aside = `${file}.stale.${process.pid}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if ((await readFile(aside, 'utf8')) !== judged) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}

function parse(text: string): Holder | undefined {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const taken = (folder: string, { pid, url }: Holder): AnnealError =>
  new AnnealError(
    'Conflict',
    `The data folder ${folder} is in use: process ${pid} serves it${url === undefined ? '' : ` at ${url}`}.`,
    { details: { pid, remedy: 'Stop that process, or use another folder with --data.' } },
  );

async function isAlive({ pid, started }: Holder): Promise<boolean> {
  return isRunning(pid) && (await startOf(pid)) === started;
}

/**
 * Whether a process with this number runs. A process that has ended, but whose parent has not asked how, counts as
 * ended.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !hasEnded(pid);
  } catch (error) {
    // The process exists, but belongs to another user.
    return codeOf(error) === 'EPERM';
  }
}

/**
 * True for a process that has ended but keeps its number until its parent asks how. False where the system cannot say.
 */
function hasEnded(pid: number): boolean {
  try {
    return /^[ZX]$/.test(fieldOf(readFileSync(`/proc/${pid}/stat`, 'utf8'), 3));
  } catch {
    return false;
  }
}

/**
 * Distinguishes processes of the same number (L2). Empty where the system does not report it; then the number decides.
 */
async function startOf(pid: number): Promise<string> {
  // In ticks since boot.
  return fieldOf(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''), 22);
}

/** Fields count from 1. The second is the name, in brackets, and may hold any text. */
const fieldOf = (stat: string, number: number): string =>
  stat.slice(stat.lastIndexOf(')') + 2).split(' ')[number - 3] ?? '';
