/** Text of POSIX shell programs, in which no value is read as code. */

/** Quotes text: `it's` becomes `'it'\''s'`, because inside single quotes a shell interprets only the closing quote. */
export const quoteForShell = (text: string): string =>
  `'${text.replaceAll('\0', '').replaceAll("'", String.raw`'\''`)}'`;

/** Text of a shell program, in which `\${name}` is a shell variable and `${value}` is inserted as it is. */
export const shell = ({ raw }: TemplateStringsArray, ...values: readonly string[]): string =>
  String.raw({ raw: raw.map((part) => part.replaceAll('\\${', '${').replaceAll('\\`', '`')) }, ...values);

/**
 * Lines that write text to a file which only its owner can read. The text ends with a newline in the file. NUL bytes are
 * dropped, because a shell cannot hold them.
 * @param file as the shell reads it: quote it first if it holds anything but letters, digits, `.`, `/`, `_`, `-` and variables
 */
export function writeFile(file: string, text: string): string {
  const body = text.replaceAll('\0', '').replace(/\n$/, '');
  const delimiter = delimiterFor(body);
  return `(umask 077; cat >${file} <<'${delimiter}'\n${body}\n${delimiter}\n) || exit 1\n`;
}

/** A line that does not occur in the text. The same text gives the same line. */
export function delimiterFor(text: string, start = 'ANNEAL_END'): string {
  const lines = new Set(text.split('\n'));
  let delimiter = start;
  while (lines.has(delimiter)) delimiter += '_';
  return delimiter;
}

/** The first lines of every program: its folder, and a helper that ends the program, with a remedy, when a program is not installed. */
export const prologue = shell`#!/bin/sh
set -u
umask 022
HOME=\${HOME:-/root}
export HOME
cd "\${heat_outputs_path%/*}" || exit
need() {
  command -v "$1" >/dev/null 2>&1 && return
  echo "$1 is not installed on this host: $2" >&2
  exit 127
}
`;
