/** The order of names in lists that people read: `machine-2` before `machine-10`. */
const collator = new Intl.Collator('en', { numeric: true });

/** Compares two names, for `sort`. The same everywhere, whatever the language of the machine. */
export const byNaturalOrder = (a: string, b: string): number => collator.compare(a, b);
