/** Examples for `addHelpText('after', …)`. */
export const exampleText = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ anneal ${line}`).join('\n')}\n`;
