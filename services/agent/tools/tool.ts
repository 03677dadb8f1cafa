/** A tool turns a request into a program to run, and what the program left behind into a result. */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ToolProgram } from '../supervise.ts';

export interface ToolContext {
  readonly request: HostRequest;
  /** The folder of this run; also its working folder. */
  readonly run: string;
  /** The environment that the host gives to every program. Holds no secret of the agent. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface ToolResult {
  readonly status_code: number;
  readonly outputs: JsonObject;
  /** Outputs that are long or no text, by name: the files that hold them. */
  readonly files?: ReadonlyMap<string, string>;
  /** Set when the tool reports its streams itself, as hooks do. */
  readonly stdout?: string;
  readonly stderr?: string;
  readonly error?: string;
}

export interface Tool {
  /** The streams of the program that are for people: the standard output of a hook is its result. */
  readonly streams: readonly ('stdout' | 'stderr')[];
  /** Writes the files that the program needs into the folder of the run. Safe to repeat. */
  prepare(context: ToolContext): Promise<ToolProgram>;
  /** Collects the result after the program ended by itself. */
  collect(context: ToolContext & { status: number }): Promise<ToolResult>;
}
