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
  if (error) throw new AnnealError('InvalidTemplate', `The template is not YAML: ${error.message}`);
  return document.toString({ lineWidth: 0, indent: 2, indentSeq: true, flowCollectionPadding: false });
}
