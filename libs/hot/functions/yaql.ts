/** `yaql`: evaluates a YAQL expression on data. The engine is in `../yaql/`. */
import { type Reason, stated, why } from '../evaluate/reason.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import { evaluateYaql, parseYaql, type Tree, YaqlFault } from '../yaql/yaql.ts';
import { mapArgument, type TemplateFunction, wrong, wrongForm } from './function.ts';

/**
 * Cache of parsed expressions, because they repeat in every instance of a nested template. The oldest is evicted first.
 */
const parsed = new Map<string, Tree>();
const mostParsed = 1000;

function parse(expression: string): Tree {
  const known = parsed.get(expression);
  if (known) return known;
  const tree = parseYaql(expression);
  const [oldest] = parsed.keys();
  if (parsed.size >= mostParsed && oldest !== undefined) parsed.delete(oldest);
  parsed.set(expression, tree);
  return tree;
}

/** The function. Its budget is that of the whole stack. */
export const yaql: TemplateFunction = {
  name: 'yaql',
  program: 'expression',
  evaluate(argument, _scope, work) {
    const form = why`"yaql" syntax should be {expression: <expression>, data: <map>}`;
    if (!isPlainObject(argument)) return wrongForm(why`Arguments to "yaql" must be a map.`);
    const { expression } = mapArgument(argument, 'yaql', ['expression']);
    if (Object.keys(argument).some((key) => key !== 'expression' && key !== 'data')) return wrongForm(form);
    const data = Object.hasOwn(argument, 'data') ? (argument['data'] ?? null) : {};
    if (typeof expression !== 'string') return wrong(why`The "expression" argument to "yaql" must contain a string`);
    const placed = ({ reason, offset }: YaqlFault): Reason =>
      offset === undefined ? reason : why`${reason} (at character ${stated(offset + 1)})`;
    let tree: Tree;
    try {
      tree = parse(expression);
    } catch (error) {
      if (!(error instanceof YaqlFault)) throw error;
      return wrongForm(why`Bad expression ${placed(error)}`);
    }
    try {
      return evaluateYaql({ tree, data: { data }, work });
    } catch (error) {
      if (!(error instanceof YaqlFault)) throw error;
      return wrong(placed(error));
    }
  },
};
