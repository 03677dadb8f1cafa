/** `yaql`: evaluates a YAQL expression on data. The engine is in `../yaql/`. */
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import { evaluateYaql, heatLimits, parseYaql, type Tree, YaqlFault } from '../yaql/yaql.ts';
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
  evaluate(argument, scope, work) {
    const form = '"yaql" syntax should be {expression: <expression>, data: <map>}';
    if (!isPlainObject(argument)) return wrongForm('Arguments to "yaql" must be a map.');
    const { expression } = mapArgument(argument, 'yaql', ['expression']);
    if (Object.keys(argument).some((key) => key !== 'expression' && key !== 'data')) return wrongForm(form);
    const data = Object.hasOwn(argument, 'data') ? (argument['data'] ?? null) : {};
    if (typeof expression !== 'string') return wrong('The "expression" argument to "yaql" must contain a string');
    const where = (fault: YaqlFault): string =>
      fault.offset === undefined ? '' : ` (at character ${fault.offset + 1})`;
    let tree: Tree;
    try {
      tree = parse(expression);
    } catch (error) {
      if (!(error instanceof YaqlFault)) throw error;
      return wrongForm(`Bad expression ${error.message}${where(error)}`);
    }
    try {
      return evaluateYaql({ tree, data: { data }, limits: scope.yaql ?? heatLimits, work });
    } catch (error) {
      if (!(error instanceof YaqlFault)) throw error;
      return wrong(`${error.message}${where(error)}`);
    }
  },
};
