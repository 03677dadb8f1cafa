/** The context of every command, built once in main.ts. */
import type { Client } from '@anneal/client/connect.ts';
import type { PartName } from '@anneal/client/parts.ts';
import type { TerminalOutput } from './output.ts';

export interface CliContext {
  /** The command line, without `--server`. */
  readonly words: readonly string[];
  readonly output: TerminalOutput;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborted by the first Ctrl-C. */
  readonly interrupt: AbortSignal;
  /** The terminal for live views. */
  readonly terminal: NodeJS.WriteStream;
  /** Asks the user for a line; undefined when there is none, as after Ctrl-D. Absent without a terminal on both sides. */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
  /** The same for a secret, which the terminal does not show. */
  readonly askSecret?: ((question: string) => Promise<string | undefined>) | undefined;
  readonly now: () => number;
  /** All calls. Logs in at the first call. */
  client(options?: { signal?: AbortSignal }): Promise<Client>;
  /** Logs in, and loads only this part of the client, because a command that loads all calls takes twice as long. */
  part<Name extends PartName>(name: Name, options?: { signal?: AbortSignal }): Promise<Client[Name]>;
  /** The same for several parts, with one login. */
  parts<Name extends PartName>(names: readonly Name[], options?: { signal?: AbortSignal }): Promise<Pick<Client, Name>>;
}
