/**
 * Ports for the servers of tests. A server that takes ten seconds to start would otherwise find its port taken: by a
 * server of a test beside it that chose the same one, or by the health port of such a server, which is the next one.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { probePort } from '@anneal/cli/serve/port.ts';
import { atProcessEnd } from './process-end.ts';

/**
 * Below the ports of outgoing connections and those that `anneal serve` chooses by itself, so that none of them takes the
 * port before the server listens.
 */
const [first, last] = [10_000, 15_000];
/** One file for each reserved pair of ports, with the process that holds it. All test runs of a user share them. */
const folder = join(tmpdir(), `anneal-test-ports-${userInfo().uid}`);

/** A port of 127.0.0.1 without a listener, and the one after it, for this process alone until it ends. */
export async function freeLocalPort(): Promise<number> {
  mkdirSync(folder, { recursive: true });
  for (;;) {
    const port = randomInt(first / 2, last / 2) * 2;
    if (!reserve(port)) continue;
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
}

function reserve(port: number): boolean {
  const file = join(folder, String(port));
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch {
    // The file of a process that has ended goes; another port is tried.
    if (!isHeld(file)) rmSync(file, { force: true });
    return false;
  }
  atProcessEnd(() => rmSync(file, { force: true }));
  return true;
}

function isHeld(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, 'utf8')) || process.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const isFree = (port: number): Promise<boolean> =>
  probePort('127.0.0.1', port).then(
    () => true,
    () => false,
  );
