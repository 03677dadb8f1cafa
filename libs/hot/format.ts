/** One way to lay out a template. Comments, words and their meaning stay as they are. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { parseDocument } from 'yaml';

/** @throws AnnealError InvalidTemplate */
export function formatText(text: string): string {
  // A comment may move to a place from which it moves once more.
  let [before, laid] = ['', text];
  for (let round = 0; round < mostRounds && laid !== before; round += 1) [before, laid] = [laid, layOut(laid)];
  return laid;
}
const mostRounds = 8;

function layOut(text: string): string {
  if (text.trim() === '') return text;
  // Every word stays as it was written: what it means is HOT's affair, not that of a layout.
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
    // Only here it is noticed that an alias has no anchor, or that a value is nested too deeply.
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
