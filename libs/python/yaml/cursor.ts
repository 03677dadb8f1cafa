/** A forward-moving position in a text, with its line and column. */
import { carriageReturn, isBreak, lineFeed } from './character.ts';
import { YamlError } from './token.ts';

/** Reads a text once, from its beginning. A byte order mark is skipped. Lines and columns count from 0. */
export class Cursor {
  readonly text: string;
  at = 0;
  line = 0;
  #lineStart = 0;

  constructor(text: string) {
    this.text = text;
    if (text.charCodeAt(0) === 0xfeff) {
      this.at = 1;
      this.#lineStart = 1;
    }
  }

  get column(): number {
    return this.at - this.#lineStart;
  }

  /** 0 beyond the end. */
  code(ahead = 0): number {
    const at = this.at + ahead;
    return at < this.text.length ? this.text.charCodeAt(at) : 0;
  }

  skip(count = 1): void {
    this.at += count;
  }

  /** Skips a line end and returns the text that it counts as. */
  skipLine(): string {
    const code = this.code();
    if (!isBreak(code)) return '';
    this.at += code === carriageReturn && this.code(1) === lineFeed ? 2 : 1;
    this.line += 1;
    this.#lineStart = this.at;
    return code === 0x2028 || code === 0x2029 ? String.fromCharCode(code) : '\n';
  }

  /** Ends the line at the end of the text, even without a line end. */
  endLine(): void {
    if (this.column === 0) return;
    this.line += 1;
    this.#lineStart = this.at;
  }

  fail(message: string, offset = this.at): never {
    throw new YamlError(message, offset);
  }
}
