/** A word as a shell reads it back. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Named values, each as an option of its own: `-P size=2`, `-P zone=east`. */
export const optionsOf = (option: string, values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).map(([name, value]) => `${option} ${quoted(`${name}=${value}`)}`);
