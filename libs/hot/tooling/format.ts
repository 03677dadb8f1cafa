/** The layout of a template. Formatting keeps comments, words and their meaning. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { parseDocument } from 'yaml';

/** @throws AnnealError InvalidTemplate */
export function formatText(text: string): string {
  // Repeat, because formatting may move a comment to a place from which the next round moves it again.
  let [before, laid] = ['', text];
  for (let round = 0; round < mostRounds && laid !== before; round += 1) [before, laid] = [laid, layOut(laid)];
  return laid;
}
const mostRounds = 8;

function layOut(text: string): string {
  if (text.trim() === '') return text;
  // Keep every word as written: HOT decides what it means, the layout does not.
  const document = parseDocument(text, {
    version: '1.1',
    schema: 'failsafe',
    merge: false,
    uniqueKeys: false,
    keepSourceTokens: true,
  });
  const [error] = document.errors;
  if (error) return refuse(error.message, error.linePos?.[0]);
  try {
    return document.toString({ lineWidth: 0, indent: 2, indentSeq: true, flowCollectionPadding: false });
  } catch (failure) {
    // Only printing finds an alias without an anchor, or a value that is nested too deeply.
    return refuse((failure as Error).message, { line: 1, col: 1 });
  }
}

function refuse(found: string, at: { line: number; col: number } | undefined): never {
  const message = `The template is not YAML: ${found}`;
  const place = at && { line: at.line, column: at.col };
  throw new AnnealError('InvalidTemplate', message, {
    mistakes: [{ code: 'InvalidYaml', message, path: '', ...place }],
  });
}
