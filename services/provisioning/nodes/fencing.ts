/**
 * Proves that a machine is off, before another machine takes its place.
 *
 * F1 A proof is a power state of `power off` that the BMC reports after this call began, the exit status 0 of the fencing
 *    program of the operator, or the statement of a person. An accepted request is no proof.
 * F2 The program runs only when the BMC does not answer or did not turn the machine off. It gets the node as JSON on standard
 *    input, never a password, and no shell interprets anything.
 * F3 The statement of a person (`statements.ts`) counts only while the BMC does not say that the machine is on.
 */
import { execFile } from 'node:child_process';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { statementText, type NodeDocument, type Power } from '../documents/node.ts';
import type { Bmcs } from '../bmcs.ts';

/** For a switch of power that takes a minute to answer. */
const programMs = 120_000;
const longestOutput = 64 * 1024;

export class Fencing {
  readonly #bmcs: Bmcs;
  readonly #program: string;

  /** @param program absolute path; empty for none. */
  constructor({ bmcs, program }: { bmcs: Bmcs; program: string }) {
    this.#bmcs = bmcs;
    this.#program = program;
  }

  /**
   * Turns the machine off, and resolves with the proof, for people. A repeat proves it again.
   * @throws AnnealError of the BMC, with the answer of the program, when nothing proves that the machine is off.
   */
  async off(node: NodeDocument, { withinMs }: { withinMs: number }): Promise<string> {
    const stated = node.confirmed_off && (await readPower(this.#bmcs, node)) !== 'power on';
    if (node.confirmed_off && stated) return statementText(node.confirmed_off);
    try {
      await this.#bmcs.ensurePower(node, 'power off', { withinMs });
      return 'its BMC reports that it is off';
    } catch (error) {
      const isAbout = error instanceof AnnealError && fencedErrors.includes(error.code);
      if (this.#program === '' || !isAbout) throw error;
      const refusal = await confirmOff(this.#program, node);
      if (refusal === undefined) return 'the fencing program confirmed that it is off';
      throw new AnnealError(
        error.code,
        `${toFailure(error).message} The fencing program ${this.#program} did not confirm that it is off: ${refusal}`,
        { cause: error, details: { node: node.name, url: node.address } },
      );
    }
  }
}

/** Another machine that answers at the address proves nothing about this one, so the program is asked. */
const fencedErrors: readonly string[] = ['BmcUnreachable', 'BmcRefused', 'BmcMisconfigured', 'IdentityMismatch'];

/** For one reading of a BMC that may be dead. */
const readingMs = 5_000;

/** F3. The power that the BMC of the machine reports now. Undefined when it does not answer, or another machine answers. */
export async function readPower(bmcs: Bmcs, node: NodeDocument): Promise<Power | null | undefined> {
  try {
    return await bmcs.with(node, (machine) => machine.power(), { withinMs: readingMs, tries: 1 });
  } catch (error) {
    if (error instanceof AnnealError && fencedErrors.includes(error.code)) return undefined;
    throw error;
  }
}

/** Undefined when the program confirms; else why not. */
function confirmOff(program: string, node: NodeDocument): Promise<string | undefined> {
  const { id, name, address, system_id, properties } = node;
  const options = { timeout: programMs, killSignal: 'SIGKILL', maxBuffer: longestOutput } as const;
  return new Promise((resolve) => {
    const child = execFile(program, ['off', name], options, (error, _stdout, stderr) => {
      if (!error) return resolve(undefined);
      const how = error.killed ? `no answer within ${programMs / 1000} s` : `exit status ${error.code ?? 'unknown'}`;
      resolve(`${how}. ${stderr.trim().slice(-1000)}`.trim());
    });
    // A program that does not read its input ends the pipe, which is no failure.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(JSON.stringify({ action: 'off', node: { id, name, address, system_id, properties } }));
  });
}
