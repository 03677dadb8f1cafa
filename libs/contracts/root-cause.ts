/** Tells in one line why something failed: for a script what it wrote last, which the message does not hold. Pure. */
import type { Failure } from './errors.ts';

/** The most characters of one line of a script. */
const longest = 200;

/** The last lines with text that the failed script wrote: to standard error, or else to standard output. Empty for other failures. */
export function lastLines({ details = {} }: Failure, most = 3): string[] {
  const { status_code: status, stderr, stdout } = details;
  if (typeof status !== 'number' || status === 0) return [];
  const linesOf = (text: unknown): string[] =>
    typeof text === 'string'
      ? text
          .split(/[\r\n]+/)
          .map((line) => line.replaceAll(/\p{Cc}+/gu, ' ').trim())
          .filter((line) => line !== '')
      : [];
  return (
    [stderr, stdout]
      .map(linesOf)
      .find((lines) => lines.length > 0)
      ?.slice(-most)
      .map((line) => (line.length > longest ? `${line.slice(0, longest)}…` : line)) ?? []
  );
}

/** Such as `config has failed on web1 with exit status 3: no space left`, without a full stop. */
export function rootCause(what: string, failure: Failure): string {
  const [last] = lastLines(failure, 1);
  const { host, status_code: status, script_fault: fault } = failure.details ?? {};
  const text = (last ?? failure.message.split('\n', 1)[0] ?? '').replace(/\.$/, '');
  if (last === undefined) return `${what} has failed: ${text}`;
  // No interpreter names the carriage return at which it fails.
  const likely = typeof fault === 'string' ? `, likely because of its script: ${fault.split('. ', 1)[0]}` : '';
  const where = typeof host === 'string' ? ` on ${host}` : '';
  return `${what} has failed${where} with exit status ${String(status)}: ${text}${likely}`;
}
