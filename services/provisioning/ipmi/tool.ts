/**
 * Runs `ipmitool`, one process for each command.
 *
 * T1 The password travels in the environment of the process, never in its arguments, and no shell interprets anything.
 * T2 The signal of a call kills the process at once.
 * T3 An error says whether the command reached the BMC: a change that may have been carried out is not repeated.
 */
import { execFile } from 'node:child_process';
import { errorOf, refusesSuite, type IpmiAccess, type IpmiCommand, type IpmiOutcome } from './failure.ts';

interface Calling {
  readonly signal: AbortSignal;
  /** Fewer attempts, for callers that retry by themselves. */
  readonly tries?: number | undefined;
}

/** A BMC that answers slowly is not cut off; the signal of the turn ends earlier. */
const longestMs = 30_000;
const most = 1_000_000;
const strongest = 17;
const widespread = 3;

export class IpmiTool {
  readonly #program: string;
  /** The suite that each address accepted. */
  readonly #suites = new Map<string, number>();

  constructor(program = 'ipmitool') {
    this.#program = program;
  }

  /** @returns what the command printed. @throws BmcError; the reason of the signal when it aborted. */
  async run(access: IpmiAccess, command: IpmiCommand, calling: Calling): Promise<string> {
    let outcome: IpmiOutcome | undefined;
    for (const suite of this.#suitesFor(access)) {
      outcome = await start(this.#program, [...wordsOf(access, { suite, tries: calling.tries }), ...command.words], {
        password: access.password,
        signal: calling.signal,
      });
      if (refusesSuite(outcome)) continue;
      this.#suites.set(access.address, suite);
      if (!outcome.failure) return outcome.stdout;
      break;
    }
    throw errorOf(access, command, outcome);
  }

  #suitesFor({ address, cipherSuite }: IpmiAccess): readonly number[] {
    if (cipherSuite !== null) return [cipherSuite];
    return this.#suites.get(address) === widespread ? [widespread, strongest] : [strongest, widespread];
  }
}

/** `-v` makes the program say why a BMC refused a login. */
const wordsOf = (access: IpmiAccess, { suite, tries = 3 }: { suite: number; tries?: number | undefined }): string[] => {
  const { hostname, port } = new URL(access.address);
  const login = access.username === null ? [] : ['-U', access.username];
  const host = ['-I', 'lanplus', '-H', hostname.replaceAll(/[[\]]/g, ''), '-p', port];
  return [...host, ...login, '-E', '-C', String(suite), '-L', access.privilege, '-N', '1', '-R', String(tries), '-v'];
};

function start(
  program: string,
  words: readonly string[],
  { password, signal }: { password: string | null; signal: AbortSignal },
): Promise<IpmiOutcome> {
  signal.throwIfAborted();
  const options = {
    env: { PATH: process.env['PATH'], LC_ALL: 'C', IPMI_PASSWORD: password ?? '' },
    timeout: longestMs,
    killSignal: 'SIGKILL',
    maxBuffer: most,
    signal,
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, words, options, (failure, stdout, stderr) => {
      if (signal.aborted) reject(signal.reason as Error);
      else resolve({ stdout, stderr, failure });
    });
    // Without input the program asks for nothing.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end();
  });
}
