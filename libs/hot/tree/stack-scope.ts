/** The values known while one stack is evaluated: its parameters, the given attributes, its nested stacks. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, PlanParameter } from '@anneal/contracts/plan.ts';
import type { Scope } from '../evaluate.ts';
import { isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import { type PartialValue, settledValue, unknown } from '../evaluate/unknown.ts';
import { walk } from '../evaluate/attribute-path.ts';
import { EvaluationWork } from '../evaluate/work.ts';
import { openName } from '../groups/open.ts';
import { keptReferences, readsHidden } from './references.ts';

/** Key among the attributes of a resource for the value that `get_resource` returns. */
export const idKey = '__id__';
/** Key among the attributes of a template resource for the attributes of the resources inside. */
export const resourcesKey = '__resources__';

/** Values of a nested stack that the stack around it can read. */
export interface NestedScope {
  read(attribute: string, path: readonly Json[]): PartialValue;
  /** The reference that the nested stack itself defines. */
  reference?(): PartialValue;
}

/** The parts that `resource_facade` reads, of the resource that the nested stack implements. */
export type FacadeParts = Readonly<Record<'metadata' | 'deletion_policy' | 'update_policy', Json | undefined>>;

/** Looks up values for the evaluator. A value that is not known yet is undefined, never guessed. */
export class StackScope implements Scope {
  readonly templateVersion: string;
  readonly strict: boolean;
  readonly now: Date | undefined;
  readonly work: EvaluationWork;
  readonly #declared: ReadonlyMap<string, unknown>;
  readonly #values: Readonly<Record<string, PlanParameter>>;
  readonly #given: JsonObject;
  readonly #nested = new Map<string, NestedScope>();

  /** Only in a nested stack. The root implements no resource, so `resource_facade` is a mistake there. */
  readonly facade?: (part: keyof FacadeParts) => Json | undefined;

  constructor(options: {
    version: string;
    /** By name: the parameters that the template declares. */
    declared: ReadonlyMap<string, unknown>;
    values: Readonly<Record<string, PlanParameter>>;
    given?: JsonObject;
    facade?: FacadeParts;
    strict?: boolean | undefined;
    now?: Date | undefined;
    /** The work of the stack around it. */
    work?: EvaluationWork;
  }) {
    const { facade } = options;
    if (facade) this.facade = (part) => facade[part];
    this.templateVersion = options.version;
    this.strict = options.strict === true;
    this.now = options.now;
    this.work = options.work ?? new EvaluationWork();
    this.#declared = options.declared;
    this.#values = options.values;
    this.#given = options.given ?? {};
  }

  addNested(name: string, nested: NestedScope): void {
    this.#nested.set(name, nested);
  }

  /** The attributes given for the resources inside a template resource. */
  givenInside(name: string): JsonObject {
    const inside = this.#of(name)?.[resourcesKey];
    return isPlainObject(inside) ? inside : {};
  }

  parameter(name: string): Json | undefined {
    return Object.hasOwn(this.#values, name) ? this.#values[name]?.value : undefined;
  }

  lacks(name: string): boolean {
    return !this.#declared.has(name) && !Object.hasOwn(this.#values, name) && name !== openName;
  }

  isHidden(expression: Expression): boolean {
    return readsHidden(keptReferences(expression), this.#values);
  }

  reference(name: string): Json | undefined {
    const given = this.#of(name)?.[idKey];
    if (given !== undefined) return given;
    const said = this.#nested.get(name)?.reference?.();
    const value = said === undefined ? undefined : settledValue(said);
    return value === unknown || value === null ? undefined : value;
  }

  attribute(name: string): JsonObject | undefined {
    const given = this.#of(name);
    return given && toRecord(Object.entries(given).filter(([key]) => key !== idKey && key !== resourcesKey));
  }

  read(resource: string, attribute: string, path: readonly Json[]): PartialValue | undefined {
    const given = this.#of(resource);
    if (given && Object.hasOwn(given, attribute)) return undefined;
    const nested = this.#nested.get(resource);
    return nested ? nested.read(attribute, path) : unknown;
  }

  /** Reads as {@link read} does, from inside. Given attributes take precedence; other values may be unknown. */
  readInside(resource: string, attribute: string, path: readonly Json[]): PartialValue {
    const read = this.read(resource, attribute, path);
    return read === undefined ? walk(this.attribute(resource)?.[attribute] ?? null, path) : read;
  }

  #of(name: string): JsonObject | undefined {
    const given = Object.hasOwn(this.#given, name) ? this.#given[name] : undefined;
    return isPlainObject(given) ? given : undefined;
  }
}
