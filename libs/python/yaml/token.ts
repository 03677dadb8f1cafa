/** Tokens of a document. */

/** A token at its offset in the text. */
export type YamlToken =
  | { readonly kind: 'scalar'; readonly at: number; readonly value: string; readonly plain: boolean }
  | { readonly kind: 'alias' | 'anchor' | 'tag'; readonly at: number; readonly value: string }
  | { readonly kind: Mark; readonly at: number };

/** `key` and `value` may have no character of their own: a word becomes a key when its colon follows. */
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

/** A mistake in a document, with its offset. */
export class YamlError extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
