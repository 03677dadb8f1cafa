/** Names that a terminal, an address and every store show as they were written. */

/** Whether a name has no control character, such as NUL or a line break, and no half of a character. */
export const isPlainName = (name: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(name);

/** The text of the mistake of a name that is not plain. */
export const plainName = 'must not contain a control character or half of a character (a lone surrogate)';
