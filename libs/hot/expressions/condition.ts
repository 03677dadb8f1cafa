/** Conditions: evaluated while compiling, lazily, once each. They see only parameters. */
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { evaluate, type Scope, unknown } from '../evaluate.ts';
import { conditionFunctions } from '../functions/table.ts';
import { join, type MistakeDraft, type Mistakes, nearestName } from '../mistakes.ts';
import { type MappingEntry, isNull, kindOfNode, type YamlNode, toJson } from '@anneal/python/yaml/node.ts';
import { pythonEqual } from '@anneal/python/values/compare.ts';
import type { Version } from '../syntax/version.ts';

/** Undefined when not known: a parameter has no value, or there is a mistake, which is reported. */
export type ConditionVerdict = boolean | undefined;

/** The section of the conditions, and where their mistakes go. */
export interface ConditionOptions {
  readonly section: ReadonlyMap<string, MappingEntry>;
  readonly version: Version;
  readonly scope: Scope;
  readonly mistakes: Mistakes;
  /** Builds an expression from a node in which only the functions of conditions are allowed. */
  readonly build: { condition(node: YamlNode, path: string): Expression | undefined };
}

/** The conditions of one template. Each is evaluated when it is first asked for; a cycle is a mistake. */
export class Conditions {
  readonly #options: ConditionOptions;
  readonly #verdicts = new Map<string, ConditionVerdict>();
  readonly #running: string[] = [];
  /**
   * By condition: the mistakes that count only once it is used (`#held`), and the conditions that it uses (`#uses`).
   */
  readonly #held = new Map<string, MistakeDraft[]>();
  readonly #uses = new Map<string, Set<string>>();
  readonly #used = new Set<string>();

  constructor(options: ConditionOptions) {
    this.#options = options;
  }

  checkAll(): void {
    for (const name of this.#options.section.keys()) this.#named(name);
  }

  /** Evaluates a use of a condition: the name of a condition, a boolean, or a function of conditions. */
  use(node: YamlNode, path: string): ConditionVerdict {
    if (node.kind === 'scalar' && typeof node.value === 'string') {
      const name = node.value;
      if (this.#options.section.has(name)) {
        const user = this.#running.at(-1);
        if (user === undefined) this.#isUsed(name);
        else this.#uses.set(user, (this.#uses.get(user) ?? new Set()).add(name));
        return this.#named(name);
      }
      const nearest = nearestName(name, this.#options.section.keys());
      const message = `Invalid condition "${name}" (in ${path})`;
      this.#options.mistakes.add({ code: 'UnknownCondition', message, path, at: node.at, found: name, nearest });
      return undefined;
    }
    return this.#definition(node, path, false);
  }

  /** Keeps a mistake in the condition that is being evaluated until something uses that condition. */
  hold(draft: MistakeDraft): void {
    const name = this.#running.at(-1);
    if (name === undefined || this.#used.has(name)) this.#options.mistakes.add(draft);
    else this.#held.set(name, [...(this.#held.get(name) ?? []), draft]);
  }

  /** Call it after all uses are known. */
  warnOfUnused(): void {
    for (const [name, drafts] of this.#held) {
      for (const { message, ...draft } of drafts) {
        this.#options.mistakes.warn({ ...draft, message: `${message} Nothing uses the condition "${name}".` });
      }
    }
    this.#held.clear();
  }

  #isUsed(name: string): void {
    if (this.#used.has(name)) return;
    this.#used.add(name);
    for (const draft of this.#held.get(name) ?? []) this.#options.mistakes.add(draft);
    this.#held.delete(name);
    for (const other of this.#uses.get(name) ?? []) this.#isUsed(other);
  }

  #named(name: string): ConditionVerdict {
    if (this.#verdicts.has(name)) return this.#verdicts.get(name);
    const path = join('conditions', name);
    const entry = this.#options.section.get(name);
    if (!entry) return undefined;
    if (this.#running.includes(name)) {
      const message = `Circular definition for condition "${name}": ${[...this.#running.slice(this.#running.indexOf(name)), name].join(' → ')}`;
      this.#options.mistakes.add({ code: 'Cycle', message, path, at: entry.at });
      this.#verdicts.set(name, undefined);
      return undefined;
    }
    this.#running.push(name);
    const node = entry.value;
    const verdict = this.#definition(node, path, true);
    this.#running.pop();
    // A cycle found below is already reported; do not report it again for each of its members.
    if (!this.#verdicts.has(name)) this.#verdicts.set(name, verdict);
    return this.#verdicts.get(name);
  }

  /**
   * `isOwn`: the node defines a condition in the section itself, where it must be a boolean and cannot name another
   * one.
   */
  #definition(node: YamlNode, path: string, isOwn: boolean): ConditionVerdict {
    if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
    // Where a condition is used, a null is true. In the section itself it is invalid.
    if (isNull(node) && !isOwn && !path.endsWith('.not')) return true;
    const [first] = node.kind === 'map' && node.entries.size === 1 ? node.entries : [];
    if (!first) return this.#invalid(node, path);
    const [name, { value: argument }] = first;
    const since = conditionFunctions.get(name);
    if (since === undefined || this.#options.version < since) {
      return this.#refuse(
        node,
        path,
        `The function "${name}" is invalid in this context`,
        [...conditionFunctions.keys()],
        name,
      );
    }
    const inner = join(path, name);
    if (name === 'not') return negate(this.use(argument, inner));
    if (name === 'and' || name === 'or') return this.#all(name, argument, inner);
    return name === 'equals' ? this.#equals(argument, inner) : this.#value(node, path, isOwn);
  }

  #all(name: 'and' | 'or', argument: YamlNode, path: string): ConditionVerdict {
    if (argument.kind !== 'list' || argument.items.length < 2) {
      return this.#refuse(argument, path, `The minimum number of condition arguments to "${name}" is 2.`);
    }
    const decisive = name === 'or';
    const verdicts: ConditionVerdict[] = [];
    // Later operands are not evaluated once one decides, except in strict mode.
    for (const [index, item] of argument.items.entries()) {
      verdicts.push(this.use(item, join(path, index)));
      if (verdicts.at(-1) === decisive && !this.#options.scope.strict) return decisive;
    }
    if (verdicts.includes(decisive)) return decisive;
    return verdicts.includes(undefined) ? undefined : !decisive;
  }

  #equals(argument: YamlNode, path: string): ConditionVerdict {
    if (argument.kind !== 'list' || argument.items.length !== 2) {
      return this.#refuse(argument, path, 'Arguments to "equals" must be of the form: [value_1, value_2]');
    }
    const [a, b] = argument.items.map((item, index) => this.#evaluate(item, join(path, index)));
    return a === undefined || b === undefined ? undefined : pythonEqual(a, b);
  }

  #value(node: YamlNode, path: string, isOwn: boolean): ConditionVerdict {
    const value = this.#evaluate(node, path);
    if (value === undefined || typeof value === 'boolean') return value;
    if (typeof value === 'string' && !isOwn) return this.use({ kind: 'scalar', value, at: node.at }, path);
    return this.#refuse(node, path, `The definition of condition "${path}" is invalid: it is not a boolean`);
  }

  #evaluate(node: YamlNode, path: string): Json | undefined {
    const expression = this.#options.build.condition(node, path);
    if (!expression) return undefined;
    try {
      const value = evaluate(expression, this.#options.scope, path);
      return value === unknown ? undefined : value;
    } catch (error) {
      this.#refuse(node, path, (error as Error).message);
      return undefined;
    }
  }

  #invalid(node: YamlNode, path: string): undefined {
    const found = node.kind === 'scalar' ? JSON.stringify(toJson(node)) : kindOfNode(node);
    this.#refuse(node, path, `The definition of condition "${path.replace(/^conditions\./, '')}" is invalid: ${found}`);
    return undefined;
  }

  #refuse(node: YamlNode, path: string, message: string, known: readonly string[] = [], found?: string): undefined {
    const nearest = found === undefined ? undefined : nearestName(found, known);
    const expected = known.length > 0 ? known.join(', ') : undefined;
    this.#options.mistakes.add({
      code: 'InvalidCondition',
      message: `${path}: ${message}`,
      path,
      at: node.at,
      found,
      nearest,
      expected,
    });
    return undefined;
  }
}

const negate = (verdict: ConditionVerdict): ConditionVerdict => (verdict === undefined ? undefined : !verdict);
