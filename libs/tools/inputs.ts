/**
 * Where a script finds its inputs. A variable of a Linux process holds 128 KiB at most, with its name. A longer value is
 * in a file only, and a script that names `heat_inputs_path` finds every input in a file too. Pure.
 */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { asText, ConfigError } from './tool.ts';

/** Name, `=`, value and the byte that ends it. */
const variableBytes = 128 * 1024;
const fileName = /^[\w.-]{1,200}$/;

export interface TextInput {
  readonly name: string;
  readonly text: string;
}

/**
 * Divides the inputs of a script into variables of its environment and files `$heat_inputs_path.NAME`.
 * @throws ConfigError for a script that reads an input as a variable which can only be a file
 */
export function placedInputs({ config, config_ref, inputs }: HostRequest): {
  readonly variables: readonly TextInput[];
  readonly files: readonly TextInput[];
} {
  // An agent that has only the reference to the config does not know its text.
  const script = config_ref ? undefined : asText(config);
  const readsFiles = script?.includes('heat_inputs_path') ?? true;
  const variables: TextInput[] = [];
  const files: TextInput[] = [];
  for (const { name, value } of inputs) {
    const input = { name, text: asText(value) };
    const bytes = Buffer.byteLength(`${name}=${input.text}`) + 1;
    const fits = bytes <= variableBytes;
    if (fits) variables.push(input);
    if (fileName.test(name) && (readsFiles || !fits)) files.push(input);
    if (!fits && !readsFiles && script?.split(/\W+/).includes(name) === true) {
      throw new ConfigError(
        `Input ${name} has ${bytes} bytes with its name; a variable holds ${variableBytes}. Read the file $heat_inputs_path.${name} in the script instead.`,
      );
    }
  }
  return { variables, files };
}
