/** Properties of a resource: fills in defaults, converts and checks values as Heat does, and compares versions. */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { type Json, type JsonObject, sameJson } from '@anneal/contracts/json.ts';
import type { Expression, PlanResource } from '@anneal/contracts/plan.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { constrainedEntry } from '../parameters/custom-constraint.ts';
import { checkConstraints } from '../parameters/constraint.ts';
import { type Reason, stated, why } from '../evaluate/reason.ts';
import { evaluateParts, type Scope } from '../evaluate.ts';
import { join, nearestName } from '../mistakes.ts';
import { plain, withTextKeys } from '@anneal/python/values/exact.ts';
import { wholeNumberArgument } from '../functions/function.ts';
import { isExact, isFloat, numberOf } from '@anneal/python/values/number.ts';
import { isPlainObject, kindOfValue, shown, toRecord } from '@anneal/python/yaml/node.ts';
import { convertValue } from '../parameters/parameter-value.ts';
import { jsonText } from '@anneal/python/values/compare.ts';
import { brokenRules, schemaFor } from './type-rule.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import { holdsUnknown, type PartialValue, unknown } from '../evaluate/unknown.ts';

/** A mistake in a property. */
export interface PropertyMistake extends Mistake {
  /** Path below the property, for callers that can find its position in the text. */
  readonly steps: readonly (string | number)[];
}

/** The properties after defaults, conversion and checks. */
export interface ResolvedProperties {
  /** The known properties, with defaults. */
  readonly properties: JsonObject;
  readonly mistakes: PropertyMistake[];
  /** Names of properties with an unknown part; `properties` leaves them out. */
  readonly unknown: string[];
  /** All properties, with the unknown marker for each unknown part. */
  readonly all: Readonly<Record<string, PartialValue>>;
}

/** The resource and its type, and where values come from. */
export interface ResolveProperties {
  readonly resource: PlanResource;
  readonly type: ResourceType;
  readonly scope: Scope;
  /** A template resource accepts text for a list or a map, because template parameters do. */
  readonly isTemplate?: boolean;
  /** Inside maps whose keys are known, shows absent keys as null, as Heat does. */
  readonly absentAsNull?: boolean;
  /** The resources of the same stack, and whether each exists. */
  readonly siblings?: ReadonlyMap<string, boolean>;
  /** The section of the resource that holds the properties, for messages. */
  readonly section?: 'properties' | 'update_policy';
}

/** Reports mistakes instead of throwing. No message quotes a value that `scope` hides. */
export function resolveProperties(parameters: ResolveProperties): ResolvedProperties {
  const { resource, type, scope, section = 'properties', absentAsNull = false } = parameters;
  const base = `resources.${resource.name}.${section}`;
  const given = new Map<string, PartialValue>();
  const mistakes: PropertyMistake[] = [];
  for (const [name, expression] of Object.entries(resource.properties)) {
    try {
      given.set(name, evaluateParts(expression, scope, join(base, name)));
    } catch (error) {
      if (!(error instanceof AnnealError)) throw error;
      for (const mistake of error.mistakes ?? []) mistakes.push({ ...mistake, steps: [name] });
      // Leave the value open, so that one mistake is not reported twice.
      given.set(name, unknown);
    }
  }
  if (type.open_properties) return finish(Array.from(given), mistakes);
  const context: Context = {
    base,
    mistakes,
    hiddenAt: (steps) => hiddenAt(parameters, steps),
    isTemplate: parameters.isTemplate === true,
    absentAsNull,
    now: scope.now,
    work: scope.work,
  };
  for (const [name, value] of given) if (value === unknown) checkReferenced({ name, context, ...parameters });
  const schema = schemaFor(type, given);
  const read = readMap({ context, given, schema, steps: [], path: base });
  if (mistakes.length === 0 && section === 'properties') {
    for (const problem of brokenRules(type, toRecord(read), parameters.siblings)) {
      const isHidden = Object.values(resource.properties).some((each) => scope.isHidden?.(each));
      const reason = 'whole' in problem ? problem.whole : why`resources.${stated(resource.name)}: ${problem}`;
      const message = isHidden ? reason.masked : reason.full;
      mistakes.push({ code: 'ConstraintBroken', message, path: base, steps: [] });
    }
  }
  // A schema chosen by another property (`schemaFor`) only checks the value; the value stays as written.
  const asWritten = read.map(([name, value]): [string, PartialValue] =>
    schema[name] === type.properties[name] ? [name, value] : [name, given.get(name) ?? value],
  );
  return finish(asWritten, mistakes);
}

/** Until a resource exists, its reference is its name. So the name must fit the schema too. */
function checkReferenced({
  name,
  context,
  resource,
  type,
}: ResolveProperties & { name: string; context: Context }): void {
  const schema = Object.hasOwn(type.properties, name) ? type.properties[name] : undefined;
  const expression = resource.properties[name];
  const isReference = expression?.kind === 'call' && expression.function === 'get_resource';
  const target = isReference && expression.arguments.kind === 'literal' ? expression.arguments.value : undefined;
  // A target that the template does not have is reported elsewhere.
  if (schema && typeof target === 'string' && resource.requires.includes(target))
    convert({ context, steps: [name], path: join(context.base, name) }, target, schema);
}

function finish(read: [string, PartialValue][], mistakes: PropertyMistake[]): ResolvedProperties {
  const entries = read.map(([name, value]): [string, PartialValue] => [name, withTextKeys(value)]);
  const open = entries.filter(([, value]) => holdsUnknown(value)).map(([name]) => name);
  const known = entries.filter(([, value]) => !holdsUnknown(value)) as [string, Json][];
  return { properties: toRecord(known), mistakes, unknown: open, all: toRecord(read) };
}

interface Context {
  readonly base: string;
  readonly mistakes: PropertyMistake[];
  /** The smallest part of a property around a value whose mistake must not quote it; undefined when it may. */
  readonly hiddenAt: (steps: PropertyMistake['steps']) => PropertyMistake['steps'] | undefined;
  readonly isTemplate: boolean;
  readonly absentAsNull: boolean;
  readonly now: Date | undefined;
  readonly work: EvaluationWork | undefined;
}
interface Place {
  readonly context: Context;
  readonly steps: readonly (string | number)[];
  readonly path: string;
}

function refuse(
  { context, steps, path }: Place,
  code: string,
  message: string | Reason,
  more: { expected?: string; found?: string; nearest?: string } = {},
): void {
  // The name of a property is wrong in the map that holds it, not in its value.
  const hidden = context.hiddenAt(code === 'UnknownProperty' ? steps.slice(0, -1) : steps);
  if (!hidden) {
    const text = typeof message === 'string' ? message : message.full;
    context.mistakes.push({ code, message: `Property error: ${path}: ${text}`, path, steps, ...more });
    return;
  }
  const at = hidden.reduce(join, context.base);
  const { expected } = more;
  const fit = `a hidden value does not fit${expected === undefined ? '' : `; expected ${expected}`}`;
  context.mistakes.push({
    code,
    message: `Property error: ${at}: ${typeof message === 'string' ? fit : message.masked}`,
    path: at,
    steps: hidden,
    ...(expected !== undefined && { expected }),
  });
}

/** Follows the steps as far as the property is written out: a computed map may have a secret as a key. */
function hiddenAt({ resource, scope }: ResolveProperties, steps: PropertyMistake['steps']) {
  const [name, ...rest] = steps;
  let part =
    typeof name === 'string' && Object.hasOwn(resource.properties, name) ? resource.properties[name] : undefined;
  if (!part || !scope.isHidden?.(part)) return undefined;
  let depth = 1;
  for (const step of rest) {
    const next: Expression | undefined =
      part.kind === 'map'
        ? part.entries.find(({ key }) => key === step)?.value
        : part.kind === 'list' && typeof step === 'number'
          ? part.items[step]
          : undefined;
    if (!next) break;
    part = next;
    depth += 1;
  }
  return scope.isHidden?.(part) ? steps.slice(0, depth) : undefined;
}

function readMap(
  parameters: Place & { given: ReadonlyMap<string, PartialValue>; schema: Readonly<Record<string, PropertySchema>> },
): [string, PartialValue][] {
  const { given, schema, steps, path, context } = parameters;
  for (const name of given.keys()) {
    if (Object.hasOwn(schema, name)) continue;
    const nearest = nearestName(name, Object.keys(schema));
    const place = { context, steps: [...steps, name], path: join(path, name) };
    refuse(place, 'UnknownProperty', `Unknown Property ${name}`, {
      expected: Object.keys(schema).join(', '),
      found: name,
      ...(nearest !== undefined && { nearest }),
    });
  }
  return Object.entries(schema).flatMap(([name, property]): [string, PartialValue][] => {
    const value = given.get(name);
    if (value === undefined) {
      if (property.default !== undefined) return [[name, property.default]];
      if (property.required) {
        refuse(parameters, 'MissingProperty', `Property ${name} not assigned`, {
          expected: `${name} (${property.type})`,
        });
      }
      return context.absentAsNull && steps.length > 0 ? [[name, null]] : [];
    }
    const place = { context, steps: [...steps, name], path: join(path, name) };
    return [[name, readValue(place, value, property)]];
  });
}

const zeros = { String: '', Integer: 0, Number: 0, Boolean: false, Map: {}, List: [], Any: null } as const;

function readValue(place: Place, given: PartialValue, schema: PropertySchema): PartialValue {
  if (given === unknown) return unknown;
  // An explicit null counts as given: it reads as the default, or as the zero value of the type.
  const value = given === null ? (schema.default ?? (structuredClone(zeros[schema.type]) as Json)) : given;
  if (value === null) return null;
  const converted = convert(place, value, schema);
  if (converted === undefined) return unknown;
  if (schema.constraints && !holdsUnknown(converted)) {
    const checked = Array.isArray(given) && given.includes(null) ? given : converted;
    const { now, work } = place.context;
    for (const breach of checkConstraints(checked as Json, schema.constraints, { now, work })) {
      const names = schema.constraints.flatMap(({ allowed_values: allowed = [] }) => allowed.map(String));
      const nearest = typeof converted === 'string' ? nearestName(converted, names) : undefined;
      refuse(constrained(place, schema), 'ConstraintBroken', breach, {
        found: shown(converted as Json),
        ...(nearest !== undefined && { nearest }),
      });
    }
  }
  return converted;
}

/** The place of the entry that the named constraint of a map is about, or of the whole value. */
function constrained(place: Place, { constraints = [] }: PropertySchema): Place {
  const [entry] = constraints.flatMap(({ custom_constraint: name = '' }) => constrainedEntry.get(name) ?? []);
  return entry === undefined ? place : { ...place, steps: [...place.steps, entry], path: join(place.path, entry) };
}

/** Returns undefined after reporting a mistake. */
function convert(
  place: Place,
  value: Exclude<PartialValue, symbol | null>,
  schema: PropertySchema,
): PartialValue | undefined {
  const bad = (message: string): undefined => {
    refuse(place, 'WrongPropertyType', message, {
      expected: schema.type,
      found: holdsUnknown(value) ? 'a value that is worked out' : kindOfValue(value as Json),
    });
    return undefined;
  };
  switch (schema.type) {
    case 'Any':
      return value;
    case 'String':
      return convertString(value, bad);
    case 'Integer':
      return numberFor(place, convertInteger(value, bad));
    case 'Number':
      return numberFor(place, convertNumber(value, bad));
    case 'Boolean':
      if (typeof value === 'boolean') return value;
      if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
      return bad(`"${text(value)}" is not a valid boolean`);
    case 'Map': {
      if (place.context.isTemplate && typeof value === 'string') return value;
      if (place.context.isTemplate && Array.isArray(value))
        return holdsUnknown(value) ? unknown : jsonText(value as Json);
      if (!isPartialMap(value)) return bad(`"${text(value)}" is not a map`);
      const given = new Map(Object.entries(value));
      return schema.schema ? toRecord(readMap({ ...place, given, schema: schema.schema })) : value;
    }
    case 'List': {
      if (place.context.isTemplate && typeof value === 'string') return value === '' ? [] : value.split(',');
      if (!Array.isArray(value)) return bad(`"${text(value)}" is not a list`);
      const item = schema.schema?.['*'];
      if (!item) return value;
      return value.map((entry, index) =>
        readValue({ ...place, steps: [...place.steps, index], path: join(place.path, index) }, entry, item),
      );
    }
  }
}

/** A provider computes with the number; a nested template may write it as text. */
const numberFor = ({ context }: Place, value: Json | undefined): Json | undefined =>
  context.isTemplate ? value : plain(value);

type Bad = (message: string) => undefined;
const text = (value: PartialValue): string => (holdsUnknown(value) ? '…' : shown(value as Json));
const isPartialMap = (value: PartialValue): value is { [key: string]: PartialValue } => isPlainObject(value);

function convertString(value: PartialValue, bad: Bad): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number' && Number.isInteger(value)) return String(value);
  // An integer that JSON cannot carry keeps its digits. A float is refused even when it is whole.
  if (isExact(value) && !/[.en]/.test(value.text)) return value.text;
  return bad(`Value must be a string; got ${text(value)}`);
}

function convertInteger(value: PartialValue, bad: Bad): Json | undefined {
  if (typeof value === 'boolean') return Number(value);
  const number = numberOf(value);
  if (number !== undefined && !Number.isFinite(number)) return bad(`Value '${text(value)}' is not an integer`);
  // An integer with more digits than a double keeps them.
  if (number !== undefined) return isExact(value) && !isFloat(value) ? (value as Json) : Math.trunc(number);
  const whole = typeof value === 'string' ? wholeNumberArgument(value) : undefined;
  return whole ?? bad(`Value '${text(value)}' is not an integer`);
}

/** Keeps a boolean, because in Python it is a number. */
function convertNumber(value: PartialValue, bad: Bad): Json | undefined {
  const isScalar = typeof value === 'string' || typeof value === 'boolean' || numberOf(value) !== undefined;
  const converted = isScalar ? convertValue('number', value as Json) : undefined;
  if (!converted || !('value' in converted)) return bad(`Value '${text(value)}' is not a number`);
  // A plan and a provider exchange JSON, which has neither infinity nor NaN.
  const isEndless = numberOf(converted.value) !== undefined && !Number.isFinite(numberOf(converted.value));
  return isEndless ? bad(`Value '${text(value)}' is not a finite number`) : converted.value;
}

/** As in Heat, setting this property of the test resource asks for a replacement. Taking it back asks for nothing. */
const replacesOn = (type: string, name: string, value: Json | undefined): boolean =>
  type === 'OS::Heat::TestResource' && name === 'update_replace' && value === true;

/** Reports which resolved properties differ, and which of those cannot change without replacing the object. */
export function compareProperties({
  type,
  before,
  after,
}: {
  type: ResourceType;
  before: JsonObject;
  after: JsonObject;
}): {
  changed: string[];
  replace: string[];
} {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const changed = names.filter((name) => !sameJson(own(before, name), own(after, name)));
  const replace = type.open_properties
    ? []
    : changed.filter((name) => {
        const property = Object.hasOwn(type.properties, name) ? type.properties[name] : undefined;
        return !property?.update_allowed || replacesOn(type.type, name, own(after, name));
      });
  return { changed, replace };
}

const own = (map: JsonObject, name: string): Json | undefined => (Object.hasOwn(map, name) ? map[name] : undefined);
