/**
 * OS::Heat::MultipartMime: several configs as one MIME message, for cloud-init. Pure. The boundary is derived from the
 * content, so that the same parts give the same text.
 */
import { createHash } from 'node:crypto';

/** A part of a multipart message: its text, and how it is labelled. */
export interface MimePart {
  readonly content: string;
  readonly filename: string | null;
  readonly subtype: string | null;
  /** True when the content is a multipart message whose parts replace it. */
  readonly unpack: boolean;
}

/** The message as text. The boundary is derived from the parts, so equal parts give equal text. */
export function multipartMime(parts: readonly MimePart[]): string {
  const entities = parts.flatMap((part) => (part.unpack ? unpacked(part.content) : [entityOf(part)]));
  const digest = createHash('sha256').update(entities.join('\n')).digest('hex');
  const boundary = `===============${digest.slice(0, 32)}==`;
  const head = `Content-Type: multipart/mixed; boundary="${boundary}"\nMIME-Version: 1.0\n\n`;
  // Python writes one empty part for a message without parts.
  return `${head}--${boundary}\n${entities.join(`\n--${boundary}\n`)}\n--${boundary}--\n`;
}

function entityOf({ content, filename, subtype }: MimePart): string {
  // eslint-disable-next-line no-control-regex
  const ascii = /^[\x00-\x7f]*$/.test(content);
  // Drop the file extension as Python defines it. An empty value counts as absent.
  const kind = subtype || filename?.replace(/(?<=[^/.][^/]*)\.[^./]*$/, '') || 'plain';
  const lines = [
    `Content-Type: text/${headerText(kind)}; charset="${ascii ? 'us-ascii' : 'utf-8'}"`,
    'MIME-Version: 1.0',
    `Content-Transfer-Encoding: ${ascii ? '7bit' : 'base64'}`,
    ...(filename ? [`Content-Disposition: attachment; filename="${quoted(filename)}"`] : []),
  ];
  const base64 = () =>
    Buffer.from(content)
      .toString('base64')
      .replace(/.{1,76}/g, '$&\n');
  return `${lines.join('\n')}\n\n${ascii ? content : base64()}`;
}

/** Replaces characters that could begin another header or end the quotes. */
const headerText = (text: string): string => text.replaceAll(/["\\\r\n]/g, '_');

const quoted = (text: string): string => text.replaceAll(/[\r\n]/g, '_').replaceAll(/["\\]/g, String.raw`\$&`);

/** The parts of a multipart message. Any other message is a single part. */
function unpacked(message: string): string[] {
  const [head = '', ...rest] = message.split(/\r?\n\r?\n/);
  const boundary = /^content-type:\s*multipart\/[^;]+;[^]*?boundary="?([^";\r\n]+)"?/im.exec(head)?.[1];
  if (boundary === undefined) return [message];
  const body = `\n${rest.join('\n\n')}`.replaceAll('\r\n', '\n');
  const [, ...sections] = body.split(`\n--${boundary}`);
  return sections
    .filter((section) => !section.startsWith('--'))
    .map((section) => withHead(section.replace(/^[ \t]*\n/, '')));
}

/** A part without a head, such as the one of a message without parts, is plain text. */
const withHead = (part: string): string =>
  part === '' || part.startsWith('\n')
    ? entityOf({ content: part.slice(1), filename: null, subtype: null, unpack: false })
    : part;
