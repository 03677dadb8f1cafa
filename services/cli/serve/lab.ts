/**
 * The lab beside the server, in a separate process, like a data centre. After a kill, the next server finds it still
 * running. An orderly stop of the server also stops the lab.
 */
import { spawn } from 'node:child_process';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { isRunning } from '@anneal/runtime/service/folder-lock.ts';

const labSchema = z.object({
  url: z.url(),
  pid: z.number().int().positive(),
  username: z.string(),
  password: z.string(),
  fingerprint: z.string().optional(),
  machines: z.array(z.object({ name: z.string(), system_id: z.string(), address: z.string() })),
});
type LabFile = z.infer<typeof labSchema>;

export interface RunningLab extends LabFile {
  /** False when an earlier server had started it. */
  readonly isNew: boolean;
  /** False for a lab that an operator started by hand, and must stop and restart. */
  readonly isOurs: boolean;
  stop(): Promise<void>;
  /** Kills the lab without waiting. */
  kill(): void;
}

const program = fileURLToPath(new URL('../../../deploy/lab/main.ts', import.meta.url));
const startSeconds = 30;
const stopSeconds = 8;

export async function startLabProcess(parameters: {
  folder: string;
  machines: number;
  environment: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
}): Promise<RunningLab> {
  const { folder, machines, environment, signal } = parameters;
  const deadline = performance.now() + startSeconds * 1000;
  const owned = join(folder, 'started-by-server');
  let running = await findLab(folder);
  // A lab that accepts connections and does not answer is suspended or overloaded. Its folder is in use, so a second
  // lab must not start there.
  while (running === 'silent') {
    signal.throwIfAborted();
    if (performance.now() > deadline) {
      throw new AnnealError(
        'Unavailable',
        `The lab in ${folder} runs but did not answer within ${startSeconds} seconds: it is suspended or overloaded.`,
      );
    }
    await delay(50);
    running = await findLab(folder);
  }
  if (running) {
    const ours = (await readFile(owned, 'utf8').catch(() => '')) === String(running.pid);
    return {
      ...running,
      isNew: false,
      isOurs: ours,
      ...(ours ? enderOf(running.pid) : { stop: () => Promise.resolve(), kill() {} }),
    };
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const logFile = join(folder, 'lab.log');
  const log = await open(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [program, '--machines', String(machines), '--data', folder], {
    // Start it in a separate session, so that neither Ctrl-C in the terminal nor the death of this process ends it.
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: {
      // Do not pass the settings of the services to the lab. Let scripts of hosts find the `node` of this process.
      ...Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(ANNEAL|OS)_/.test(name))),
      PATH: [dirname(process.execPath), environment['PATH'] ?? ''].join(delimiter),
    },
  });
  await log.close();
  const end: { reason?: string } = {};
  child.once('exit', (code, killed) => (end.reason = killed ?? `exit status ${code}`));
  child.once('error', (error) => (end.reason = error.message));
  child.unref();
  const { pid } = child;
  await writeFile(owned, String(pid), { mode: 0o600 });
  // Check once more after the deadline, because on a slow machine this process may have been suspended past it.
  for (let late = false; end.reason === undefined && !late && !signal.aborted; await delay(50)) {
    late = performance.now() > deadline;
    const found = await findLab(folder);
    if (found && found !== 'silent' && found.pid === pid) {
      return { ...found, isNew: true, isOurs: true, ...enderOf(pid) };
    }
  }
  if (pid !== undefined && end.reason === undefined) enderOf(pid).kill();
  signal.throwIfAborted();
  const last = (await readFile(logFile, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-5).join('\n');
  const reason =
    end.reason === undefined
      ? `was not ready within ${startSeconds} seconds`
      : `ended during its start (${end.reason})`;
  throw new AnnealError('Unavailable', `The lab ${reason}. The end of its log, ${logFile}:\n${last}`);
}

/**
 * Undefined when no lab runs: no file, a dead process, or no listener. `silent` when connections are accepted without
 * an answer.
 */
async function findLab(folder: string): Promise<LabFile | 'silent' | undefined> {
  try {
    const lab = labSchema.parse(JSON.parse(await readFile(join(folder, 'lab.json'), 'utf8')));
    if (!isRunning(lab.pid)) return undefined;
    const response = await fetch(new URL('/redfish/v1/', lab.url), { signal: AbortSignal.timeout(3000) });
    await response.arrayBuffer();
    return response.ok ? lab : undefined;
  } catch (error) {
    return error instanceof DOMException && error.name === 'TimeoutError' ? 'silent' : undefined;
  }
}

function enderOf(pid: number): Pick<RunningLab, 'stop' | 'kill'> {
  const signalTo = (signal: NodeJS.Signals): void => {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has already ended.
    }
  };
  return {
    kill: () => signalTo('SIGKILL'),
    async stop() {
      signalTo('SIGTERM');
      const deadline = performance.now() + stopSeconds * 1000;
      while (isRunning(pid) && performance.now() < deadline) await delay(25);
      if (isRunning(pid)) signalTo('SIGKILL');
    },
  };
}
