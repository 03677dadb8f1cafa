/**
 * The bytes of a script that a machine cannot read as its author sees them: line ends of Windows and old Macs, and a byte
 * order mark. Editors show none of them, and the errors of a shell do not name them. Pure.
 */

const mark = '\uFEFF';

/** Whether a text names its interpreter. One with a byte order mark was meant to. */
export const namesInterpreter = (text: string): boolean => /^\uFEFF?#!/.test(text);

/** Whether a text begins with a byte order mark before its first line, which says what the text is: `#!`, `#cloud-config`. */
export const hidesItsKind = (text: string): boolean => text.startsWith(`${mark}#`);

/** The fault of a config by the tool that applies it. Configs of other tools are scripts when they name an interpreter. */
export const configFault = ({ group, config }: { group: string; config: unknown }): string | undefined =>
  typeof config === 'string' && (group === 'script' || namesInterpreter(config) || hidesItsKind(config))
    ? scriptFault(config)
    : undefined;

/** Why a machine reads a script otherwise than its author sees it, with the line. Undefined for a script without such a fault. */
export function scriptFault(text: string): string | undefined {
  const faults = [
    { fault: markFault(text), remedy: 'without a byte order mark' },
    { fault: endingFault(text), remedy: 'with LF at the end of each line' },
  ].filter(({ fault }) => fault !== undefined);
  if (faults.length === 0) return undefined;
  const remedies = faults.map(({ remedy }) => remedy).join(' and ');
  return `${faults.map(({ fault }) => fault).join(', and ')}. Save the script ${remedies}.`;
}

const markFault = (text: string): string | undefined =>
  text.startsWith(mark)
    ? 'it begins with a byte order mark (BOM), so the machine does not recognise its first line'
    : undefined;

function endingFault(text: string): string | undefined {
  const at = text.indexOf('\r');
  if (at < 0) return undefined;
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const isPair = text[at + 1] === '\n';
  // A carriage return inside a later line is a character like others, such as one that a script prints.
  if (!isPair && line > 1 && at < text.length - 1) return endingAfter(text);
  return isPair
    ? pairFault(line)
    : `line ${line} ends with a carriage return (CR) alone, so the whole script is one line`;
}

/** The first CRLF of a text whose first carriage return ends no line. */
function endingAfter(text: string): string | undefined {
  const at = text.indexOf('\r\n');
  return at < 0 ? undefined : pairFault(text.slice(0, at).split('\n').length);
}

const pairFault = (line: number): string =>
  `line ${line} ends with CRLF, the line ending of Windows, so the interpreter reads the carriage return "\\r" as a part of the line`;
