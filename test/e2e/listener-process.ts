/** A listener that is a program of its own and knows only the published API: its process, its death and its own check. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { ownEnvironment, repository, type TestServer } from './server.ts';

/** The result of a comparison of the accepted events with the log of the server. */
interface ListenerReport {
  readonly accepted: number;
  readonly published: number;
  readonly subjects: number;
  readonly missing: object;
  readonly disorder: object;
  readonly unknown: readonly string[];
}

interface ListenerCommand {
  readonly program: string;
  /** For a listener that takes events. */
  readonly listen: readonly string[];
  /** For the comparison with the log. */
  readonly check: readonly string[];
}

/** Settings of a server that sends again after 0.3 s, for a minute and more. */
export const quickRetries = { ANNEAL_NOTIFICATION_RETRY_SECONDS: Array.from({ length: 60 }, () => '0.3').join(',') };

/** One listener of a server. It may be killed and started again. */
export class ListenerProcess {
  readonly #server: TestServer;
  readonly #command: ListenerCommand;
  #child: ChildProcess | undefined;
  #said = '';

  constructor(server: TestServer, command: ListenerCommand) {
    this.#server = server;
    this.#command = command;
  }

  /** Resolves when the program says that it listens. */
  async start(): Promise<void> {
    const { program, listen } = this.#command;
    this.#said = '';
    const child = spawn(program, listen, { cwd: repository, env: await this.#environment() });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.#said = `${this.#said}${chunk.toString()}`.slice(-3000)));
    }
    await eventually(() => this.#said.includes('listening'), {
      what: 'the listener listening',
      last: () => this.#said,
    });
  }

  /** Ends the program with SIGKILL. A program that does not run is success. */
  async kill(): Promise<void> {
    const ending = this.#child;
    this.#child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => ending.once('exit', () => resolve()));
    ending.kill('SIGKILL');
    await exited;
  }

  /** The comparison when every published event was accepted. */
  async finalReport(): Promise<ListenerReport> {
    let report: ListenerReport | undefined;
    return eventually(
      async () => {
        report = await this.#check();
        return Object.keys(report.missing).length === 0 ? report : undefined;
      },
      { within: 120_000, what: 'all events being accepted', last: () => ({ report, said: this.#said }) },
    );
  }

  async #check(): Promise<ListenerReport> {
    const { program, check } = this.#command;
    const env = await this.#environment();
    return new Promise((resolve, reject) => {
      execFile(program, check, { cwd: repository, env }, (_error, stdout, stderr) => {
        if (stdout === '') reject(new Error(stderr));
        else resolve(JSON.parse(stdout) as ListenerReport);
      });
    });
  }

  async #environment(): Promise<NodeJS.ProcessEnv> {
    const path = join(this.#server.data, 'credentials.json');
    const login = JSON.parse(await readFile(path, 'utf8')) as Record<string, string>;
    return {
      ...ownEnvironment(),
      OS_AUTH_URL: login['auth_url'],
      OS_USERNAME: login['username'],
      OS_PASSWORD: login['password'],
      OS_PROJECT_NAME: login['project_name'],
    };
  }
}
