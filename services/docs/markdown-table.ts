/** Markdown of generated pages. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A table of cells of Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

/** A page that says where its content comes from. */
export const generatedPage = (title: string, origin: string, ...parts: string[]): string =>
  `# ${title}\n\n${origin}\n\n${parts.join('\n\n')}\n`;
