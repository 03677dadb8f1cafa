/** The context of every command, built once in main.ts. */
import type { Client } from '@anneal/client/connect.ts';
import type { TerminalOutput } from './output.ts';

export interface CliContext {
  readonly output: TerminalOutput;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborted by the first Ctrl-C. */
  readonly interrupt: AbortSignal;
  /** The terminal for live views. */
  readonly terminal: NodeJS.WriteStream;
  readonly now: () => number;
  /** Logs in at the first call. */
  client(options?: { signal?: AbortSignal }): Promise<Client>;
}
