/**
 * Pages whose commands run: Markdown with fences that say what a reader types and sees.
 *
 *     ```console run            commands after `$ `, each with its output; `until` repeats the command until the output fits;
 *     ```console run until      `status=2` is the exit status of the last command, 0 otherwise
 *     ```yaml file=web.yaml     a file that the reader saves before the commands that follow
 *     ```sh needs="a broker"     commands that do not run here, with the reason
 */
export interface TranscriptCommand {
  kind: 'command';
  /** As bash reads it; lines that end with a backslash are joined by bash. */
  command: string;
  /** The lines that the page shows. */
  expected: readonly string[];
  status: number;
  /** Whether the output becomes right only after some time. */
  until: boolean;
  /** The line of the page, from 1. */
  line: number;
}
export interface TranscriptFile {
  kind: 'file';
  name: string;
  content: string;
}
export type TranscriptStep = TranscriptCommand | TranscriptFile;

const languages = new Set(['sh', 'bash', 'shell', 'console']);
const program =
  /^(?:\$ |(?:\w+=\S+ )*(?:anneal|anneal-agent|curl|docker|export|mongo\w+|nats|nft|node|np[mx]|openstack|pip|python3?|rabbitmq\w*|read|systemctl)(?: |$))/;
const fence = /^(?<indent> *)```(?<language>\S*)(?<words>[^`]*)$/;

/**
 * Reads what a page runs, in its order.
 *
 * @throws Error for a word of a fence that has no meaning, so that a typing error does not hide a command from the test
 */
export function parseTranscript(markdown: string): TranscriptStep[] {
  const lines = markdown.split('\n');
  const steps: TranscriptStep[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const opened = fence.exec(lines[at] ?? '')?.groups;
    if (!opened) continue;
    const first = at + 1;
    const { indent = '', language = '', words = '' } = opened;
    while (at + 1 < lines.length && lines[at + 1] !== `${indent}\`\`\``) at += 1;
    const body = lines.slice(first, (at += 1)).map((line) => line.slice(indent.length));
    const marks = words.trim().split(/\s+/).filter(Boolean);
    const file = marks.find((mark) => mark.startsWith('file='))?.slice('file='.length);
    if (file !== undefined) steps.push({ kind: 'file', name: file, content: `${body.join('\n')}\n` });
    else if (language === 'console' && marks[0] === 'run')
      steps.push(...commandsOf(body, { marks: marks.slice(1), line: first + 1 }));
    else if (languages.has(language) && /^ needs="[^"]+"$/.test(words)) continue;
    else if (marks.length > 0) throw new Error(`line ${first}: the fence has an unknown mark: ${marks.join(' ')}`);
  }
  return steps;
}

function commandsOf(body: readonly string[], { marks, line }: { marks: string[]; line: number }): TranscriptCommand[] {
  const unknown = marks.find((mark) => mark !== 'until' && !/^status=\d+$/.test(mark));
  if (unknown !== undefined) throw new Error(`line ${line}: the fence has an unknown mark: ${unknown}`);
  const commands: { command: string; expected: string[]; line: number }[] = [];
  for (const [number, text] of body.entries()) {
    const last = commands.at(-1);
    if (text.startsWith('$ ')) commands.push({ command: text.slice(2), expected: [], line: line + number });
    else if (last === undefined) throw new Error(`line ${line + number}: output without a command`);
    else if (last.expected.length === 0 && last.command.endsWith('\\')) last.command += `\n${text}`;
    else last.expected.push(text);
  }
  const status = Number(marks.find((mark) => mark.startsWith('status='))?.slice('status='.length) ?? 0);
  return commands.map((each, number) => ({
    kind: 'command',
    ...each,
    status: number === commands.length - 1 ? status : 0,
    until: marks.includes('until'),
  }));
}

/**
 * The commands of a page that neither run nor say what they need: in a fence, or in a block that is indented.
 *
 * @returns each with its line, from 1
 */
export function untestedCommands(markdown: string): string[] {
  const untested: string[] = [];
  let opened: { isCommands: boolean } | undefined;
  for (const [number, line] of markdown.split('\n').entries()) {
    if (line.trimStart().startsWith('```')) {
      const { language = '', words = '' } = fence.exec(line)?.groups ?? {};
      opened = opened ? undefined : { isCommands: languages.has(language) && words.trim() === '' };
    } else if (opened ? opened.isCommands && line.trim() !== '' : /^ {4}/.test(line) && program.test(line.trim())) {
      untested.push(`${number + 1}: ${line.trim()}`);
    }
  }
  return untested;
}
