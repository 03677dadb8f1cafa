/** The pieces that the scanner cuts a document into. */

export type Token =
  | { readonly kind: 'scalar'; readonly at: number; readonly value: string; readonly plain: boolean }
  | { readonly kind: 'alias' | 'anchor' | 'tag'; readonly at: number; readonly value: string }
  | { readonly kind: Mark; readonly at: number };

/** `key` and `value` may stand in no character of the text: a word turns out to be a key when its colon comes. */
export type Mark =
  | 'directive'
  | 'document start'
  | 'document end'
  | 'stream end'
  | 'block sequence'
  | 'block map'
  | 'block end'
  | 'block entry'
  | 'flow sequence'
  | 'flow sequence end'
  | 'flow map'
  | 'flow map end'
  | 'flow entry'
  | 'key'
  | 'value';

/** What is wrong with a document, and where. */
export class YamlError extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
