/** A tool turns a request into a program to run, and what the program left behind into a result. */
import type { HostRequest } from '@anneal/contracts/configuration.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Program } from '../supervise.ts';

export interface ToolContext {
  readonly request: HostRequest;
  /** The folder of this run; also its working folder. */
  readonly run: string;
  /** What the host gives to every program. Holds no secret of the agent. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface ToolResult {
  readonly status_code: number;
  readonly outputs: JsonObject;
  /** Given where the tool says itself what the streams were, as hooks do. */
  readonly stdout?: string;
  readonly stderr?: string;
  readonly error?: string;
}

export interface Tool {
  /** Writes what the program needs into the folder of the run. May be done again. */
  prepare(context: ToolContext): Promise<Program>;
  /** After the program ended by itself. */
  collect(context: ToolContext & { status: number }): Promise<ToolResult>;
}

/** Values of the environment are text: what is not text travels as JSON. */
export const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
