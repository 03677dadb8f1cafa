/** A child process of the bench that answers questions over IPC, one at a time. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { serverFlags } from '@anneal/runtime/service/node-flags.ts';
import { ownEnvironment, repository } from '../../e2e/server.ts';

export class BenchChild<Q extends object, A extends { readonly kind: string }> {
  readonly #child: ChildProcess;
  readonly #name: string;
  #onTold: (answer: A) => void = () => undefined;
  readonly #waiting: { kind: string; resolve: (answer: A) => void; reject: (error: Error) => void }[] = [];

  constructor(file: string, { environment = {} }: { environment?: NodeJS.ProcessEnv }) {
    this.#name = file;
    this.#child = fork(new URL(file, import.meta.url), [], {
      cwd: repository,
      env: { ...ownEnvironment(), ...environment },
      execArgv: serverFlags(process.env),
    });
    this.#child.on('message', (answer: A) => {
      this.#onTold(answer);
      const index = this.#waiting.findIndex(({ kind }) => kind === answer.kind);
      this.#waiting.splice(index, index < 0 ? 0 : 1)[0]?.resolve(answer);
    });
    this.#child.once('exit', (code, signal) => {
      const error = new Error(`${this.#name} ended early: ${signal ?? code}`);
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  /** Calls `onTold` for every message of the process, also for those that nothing waits for. */
  onTold(onTold: (answer: A) => void): void {
    this.#onTold = onTold;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws Error when the process ends before its answer, or after the time */
  async answer<K extends A['kind']>(kind: K, within = 120_000): Promise<Extract<A, { kind: K }>> {
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    this.#waiting.push({ kind, resolve, reject });
    const late = (): void => reject(new Error(`${this.#name} did not answer "${kind}" within ${within} ms`));
    const timer = setTimeout(late, within);
    try {
      return (await promise) as Extract<A, { kind: K }>;
    } finally {
      clearTimeout(timer);
    }
  }

  ask<K extends A['kind']>(question: Q, kind: K, within?: number): Promise<Extract<A, { kind: K }>> {
    const answered = this.answer(kind, within);
    this.#child.send(question);
    return answered;
  }

  tell(question: Q): void {
    this.#child.send(question);
  }

  /** Closes the channel, which ends the process. Kills it when it does not end within ten seconds. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(timer);
  }
}
