/** A server and a lab for the bench of nodes, each in a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Client } from '@anneal/client/connect.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../../backends/free-port.ts';
import { ownEnvironment, repository } from '../../e2e/server.ts';
import { BenchChild } from '../hosts/child.ts';
import type { NodeServerAnswer, NodeServerQuestion } from './server-process.ts';

type Use = Extract<NodeServerAnswer, { kind: 'use' }>;

export interface LabAccess {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly machines: readonly { readonly name: string; readonly system_id: string }[];
}

export interface MachineRoom {
  readonly client: Client;
  readonly lab: LabAccess;
  /** The id of the server's process. */
  readonly pid: number;
  use(): Promise<Use>;
  /** Live memory of the server in bytes. */
  memory(): Promise<number>;
  /** Changes the power at the BMC, behind the back of Anneal. */
  reset(machine: string, type: 'On' | 'ForceOff'): Promise<void>;
  fault(machine: string, fault: object): Promise<void>;
  /** When the server published that the node is so. The latest time, undefined when it has not. */
  noticed(machine: string, what: string): number | undefined;
  /** Forgets what was published until now. */
  forget(): void;
  close(): Promise<void>;
}

const password = 'bench of nodes';

export async function openRoom({
  machines,
  pollSeconds,
}: {
  machines: number;
  pollSeconds: number;
}): Promise<MachineRoom> {
  const data = await mkdtemp(join(tmpdir(), 'anneal-bench-nodes-'));
  const [lab, server] = [startLabProcess(join(data, 'lab'), machines), await startServerProcess(data, pollSeconds)];
  const close = async (): Promise<void> => {
    await server.child.stop();
    await lab.stop();
    await rm(data, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    // The server may be ready before the lab.
    const [access] = await Promise.all([lab.ready(), server.child.answer('ready')]);
    const login = { authUrl: `${server.url}/identity/v3`, username: 'admin', password, project: 'admin' };
    const client = await connect(login);
    const post = async (path: string, body: object): Promise<void> => {
      const authorization = `Basic ${Buffer.from(`${access.username}:${access.password}`).toString('base64')}`;
      const answered = await fetch(`${access.url}${path}`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!answered.ok) throw new Error(`The lab answered ${answered.status} to ${path}: ${await answered.text()}`);
    };
    return {
      client,
      lab: access,
      pid: server.child.pid,
      use: () => server.child.ask({ kind: 'use' }, 'use'),
      memory: async () => (await server.child.ask({ kind: 'memory' }, 'memory')).bytes,
      reset: (machine, type) =>
        post(`/redfish/v1/Systems/${machine}/Actions/ComputerSystem.Reset`, { ResetType: type }),
      fault: (machine, fault) => post(`/lab/v1/machines/${machine}/faults`, fault),
      noticed: (machine, what) => server.seen.get(`${machine} ${what}`),
      forget: () => server.seen.clear(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startServerProcess(data: string, pollSeconds: number) {
  const port = await freeLocalPort();
  const url = `http://127.0.0.1:${port}`;
  const seen = new Map<string, number>();
  const child = new BenchChild<NodeServerQuestion, NodeServerAnswer>('../nodes/server-process.ts', {
    environment: {
      ANNEAL_DATA: join(data, 'server'),
      ANNEAL_LOG_LEVEL: 'error',
      ANNEAL_GATEWAY_URL: url,
      ANNEAL_GATEWAY_PORT: String(port),
      ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
      ANNEAL_PROVISIONING_POWER_POLL_SECONDS: String(pollSeconds),
    },
  });
  child.onTold((answer) => {
    if (answer.kind === 'noticed') seen.set(`${answer.node} ${answer.what}`, answer.at);
  });
  return { child, url, seen };
}

function startLabProcess(directory: string, machines: number) {
  const words = ['--data', directory, '--machines', String(machines), '--boot-seconds', '0.2', '--log-level', 'error'];
  const child = spawn(process.execPath, ['deploy/lab/main.ts', ...words], {
    cwd: repository,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: ownEnvironment(),
  });
  return {
    ready: () =>
      eventually(
        async () => {
          if (child.exitCode !== null) throw new Error(`The lab ended with ${child.exitCode}.`);
          const text = await readFile(join(directory, 'lab.json'), 'utf8').catch(() => undefined);
          return text === undefined ? undefined : (JSON.parse(text) as LabAccess);
        },
        { within: 120_000, what: 'the lab of the bench' },
      ),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await Promise.race([ended, delay(30_000).then(() => child.kill('SIGKILL'))]);
    },
  };
}
