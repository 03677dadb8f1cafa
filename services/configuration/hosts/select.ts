/**
 * Selects hosts by an expression such as `facts.rack == "a" and status = up`. It is YAQL, the language of the function
 * `yaql`, with two additions: a bare name at the beginning of a path reads the host (`facts.rack` is `$.facts.rack`),
 * and `==` means `=`. Pure.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import { tokens, type YaqlToken } from '@anneal/hot/yaql/token.ts';
import { evaluateYaql, parseYaql, YaqlFault } from '@anneal/hot/yaql/yaql.ts';

/** The fields of a host that an expression can read. */
export interface SelectableHost {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly facts: JsonObject;
}

const fields = new Set(['id', 'name', 'status', 'facts']);
const longest = 2_000;
/** Work for one host; an ordinary expression needs less than a hundredth. */
const workAHost = 20_000;

const refused = (text: string, why: string): AnnealError =>
  new AnnealError(
    'InvalidRequest',
    `Cannot select hosts by ${JSON.stringify(text.slice(0, 200))}: ${why}. Example: facts.rack == "a" and status = up.`,
    { mistakes: [{ code: 'InvalidExpression', path: 'where', message: why }] },
  );

/**
 * Returns a function that decides for one host at a time. A host without a fact that the expression reads does not
 * match. @throws AnnealError InvalidRequest for a text that is no expression
 */
export function compileSelection(text: string): (host: SelectableHost) => boolean {
  if (text.length > longest) throw refused(text, `it has more than ${longest} characters`);
  try {
    const tree = parseYaql(toYaql(text));
    return ({ id, name, status, facts }) => {
      const work = new EvaluationWork(undefined, { most: workAHost });
      try {
        return evaluateYaql({ tree, data: { id, name, status, facts }, work }) === true;
      } catch (error) {
        // The host has no such fact, or one of another type.
        if (error instanceof YaqlFault) return false;
        throw error;
      }
    };
  } catch (error) {
    if (error instanceof YaqlFault) throw refused(text, error.message);
    throw error;
  }
}

/** Inserts `$.` before bare fields, and joins the two tokens of `==`. */
function toYaql(text: string): string {
  const found = tokens(text);
  const isSymbol = (token: YaqlToken | undefined, ...symbols: string[]): boolean =>
    token?.kind === 'symbol' && symbols.includes(token.symbol);
  let result = '';
  let from = 0;
  for (const [index, token] of found.entries()) {
    const before = found[index - 1];
    const isField = token.kind === 'word' && fields.has(token.name);
    if (isField && !isSymbol(before, '.', '?.') && !isSymbol(found[index + 1], '=>')) {
      result += `${text.slice(from, token.offset)}$.`;
      from = token.offset;
    }
    if (isSymbol(token, '=') && isSymbol(before, '=') && before?.offset === token.offset - 1) {
      result += text.slice(from, token.offset);
      from = token.offset + 1;
    }
  }
  return result + text.slice(from);
}
