/** Writes what programs on hosts wrote. A host is not trusted: its bytes must not control the terminal. */
import { StringDecoder } from 'node:string_decoder';

/** Standard output or standard error. */
export interface OutputStream {
  write(content: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Control characters except tab, line feed and carriage return. An escape that only sets a color stays. */
// oxlint-disable-next-line no-control-regex -- it exists to find them
const controls = /\u001b(?!\[[\d;]{0,20}m)|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f]/g;

/** The text with a replacement character for each control character. */
export const withoutControls = (text: string): string => text.replaceAll(controls, '\ufffd');

/** Bytes that are no UTF-8 become replacement characters on a terminal. Other outputs receive every byte unchanged. */
export function createProgramOutput(streams: Readonly<Record<'stdout' | 'stderr', OutputStream>>) {
  // A character may lie across two pieces.
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  return (name: 'stdout' | 'stderr', bytes: Uint8Array): void => {
    const stream = streams[name];
    if (stream.isTTY === true) stream.write(withoutControls(decoders[name].write(Buffer.from(bytes))));
    else stream.write(bytes);
  };
}
