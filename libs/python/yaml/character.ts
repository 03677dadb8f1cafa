/** Character classes of YAML's syntax. Beyond the end of the text the code is 0. */

export const [tab, lineFeed, carriageReturn, space] = [0x09, 0x0a, 0x0d, 0x20] as const;

/** True for a space or a tab. */
export const isBlank = (code: number): boolean => code === space || code === tab;

/** YAML 1.1 has three more line ends than most texts use. */
export const isBreak = (code: number): boolean =>
  code === lineFeed || code === carriageReturn || code === 0x85 || code === 0x2028 || code === 0x2029;

/** True for a line end, and beyond the end of the text. */
export const isBreakOrEnd = (code: number): boolean => code === 0 || isBreak(code);

/** True for a space, a tab or a line end, and beyond the end of the text. */
export const isBlankOrEnd = (code: number): boolean =>
  code === space || code === lineFeed || code === 0 || code === tab || isBreak(code);

/** Characters allowed in names of anchors. */
export const isWordCharacter = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  code === 0x5f ||
  code === 0x2d;

/** Finds a character that no document may hold. */
/* oxlint-disable-next-line no-control-regex -- these are what a document may not hold */
export const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;
