/** One resource of the template to one of the plan. */
import type { Expression, PlanResource, Source } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { type Build, type Place, type Reference, vanished } from './build.ts';
import { evaluate, type Scope, unknown } from './evaluate.ts';
import { everyName, lookUp } from './functions/table.ts';
import { join, listed, type Mistakes, nearestName } from './mistakes.ts';
import { type Entry, isNull, isObject, type MapNode, type Node, toRecord } from './node.ts';
import type { NestedTemplate } from './nested/library.ts';
import { type PropertyMistake, resolveProperties } from './properties.ts';
import { referencesOf } from './references.ts';
import { updatePolicies } from './types/update-policy.ts';
import type { Version } from './version.ts';

const keys = [
  'type',
  'properties',
  'metadata',
  'depends_on',
  'update_policy',
  'deletion_policy',
  'description',
  'external_id',
  'condition',
];
const since2016 = new Set(['external_id', 'condition']);

const isText = (node: Node): boolean => node.kind === 'scalar' && typeof node.value === 'string';
const isFunction = (node: Node): boolean => {
  const [name] = node.kind === 'map' && node.entries.size === 1 ? node.entries.keys() : [];
  return name !== undefined && everyName.has(name);
};
const writtenForms: Readonly<Record<string, { forms: string; allows: (node: Node) => boolean }>> = {
  properties: { forms: 'object', allows: (node) => !isNull(node) },
  description: { forms: 'string', allows: isText },
  metadata: { forms: 'object', allows: ({ kind }) => kind === 'map' },
  update_policy: { forms: 'object', allows: ({ kind }) => kind === 'map' },
  deletion_policy: { forms: 'string', allows: (node) => isText(node) || isFunction(node) },
  external_id: { forms: 'string', allows: (node) => isText(node) || isFunction(node) },
  depends_on: { forms: 'list or string', allows: (node) => !isNull(node) },
  condition: { forms: 'string_or_boolean', allows: (node) => !isNull(node) },
};

export interface ResourceContext {
  readonly version: Version;
  readonly mistakes: Mistakes;
  readonly build: Build;
  readonly scope: Scope;
  readonly dialect: 'hot' | 'cfn';
  /** Parameters whose values stand in no message. */
  readonly hidden: ReadonlySet<string>;
  /** All resources of the template; the value says whether it exists, by its condition. */
  readonly enabled: ReadonlyMap<string, boolean>;
  /** The type of each resource, aliases followed, for those whose type is known. */
  readonly typeOf: ReadonlyMap<string, ResourceType>;
  /** Of the resources that are templates. */
  readonly templateOf: ReadonlyMap<string, NestedTemplate>;
}

/** Whether the resource exists. Undecided counts as existing, so that it is checked. */
/** Undefined: a parameter that has no value yet decides. */
export function isEnabled(
  name: string,
  node: Node,
  { build, hasConditions }: { build: Build; hasConditions: boolean },
): boolean | undefined {
  if (node.kind !== 'map' || !hasConditions) return true;
  const condition = node.entries.get('condition');
  if (!condition || isNull(condition.value)) return true;
  return build.conditions.use(condition.value, `resources.${name}.condition`);
}

export function compileResource(name: string, entry: Entry, context: ResourceContext): PlanResource | undefined {
  return entry.value.kind === 'map' ? new ResourceCompiler(name, entry.value, entry.at, context).compile() : undefined;
}

class ResourceCompiler {
  readonly #name: string;
  readonly #node: MapNode;
  readonly #at: Source | undefined;
  readonly #context: ResourceContext;
  readonly #path: string;
  readonly #requires = new Set<string>();

  constructor(name: string, node: MapNode, at: Source | undefined, context: ResourceContext) {
    this.#name = name;
    this.#node = node;
    this.#at = at;
    this.#context = context;
    this.#path = join('resources', name);
  }

  compile(): PlanResource | undefined {
    this.#checkKeys();
    const type = this.#context.typeOf.get(this.#name);
    const properties = this.#properties();
    const metadata = this.#expression('metadata', true);
    const updatePolicy = this.#expression('update_policy', false);
    const externalId = this.#expression('external_id', false);
    this.#checkForms();
    const explicit = this.#dependsOn();
    if (externalId) {
      if (explicit.length > 0)
        this.#refuse(
          'InvalidExternalId',
          `Resource ${this.#name} has external_id and cannot have depends_on`,
          'depends_on',
        );
      this.#requires.clear();
    }
    for (const required of explicit) this.#requires.add(required);
    const policy = externalId ? 'Retain' : this.#deletionPolicy();
    const description = this.#entry('description');
    const resource: PlanResource = {
      name: this.#name,
      type: type?.type ?? '',
      properties: toRecord(properties.known),
      requires: [...this.#requires].sort(),
      ...(metadata && { metadata }),
      ...(policy && { deletion_policy: policy }),
      ...(updatePolicy && { update_policy: updatePolicy }),
      ...(externalId && { external_id: externalId }),
      ...(description?.kind === 'scalar' && { description: String(description.value) }),
      ...(this.#at && { source: this.#at }),
    };
    // With external_id nothing is created, so nothing is required of the properties.
    if (type && !externalId) this.#checkProperties(resource, type, properties.broken);
    if (type && updatePolicy) this.#checkUpdatePolicy(resource, type, updatePolicy);
    return resource;
  }

  #entry(key: string): Node | undefined {
    const entry = this.#node.entries.get(key);
    return entry && !isNull(entry.value) ? entry.value : undefined;
  }

  #refuse(code: string, message: string, key: string, at = this.#node.entries.get(key)?.at ?? this.#at): void {
    this.#context.mistakes.add({ code, message, path: join(this.#path, key), at });
  }

  #checkKeys(): void {
    for (const [key, entry] of this.#node.entries) {
      const known =
        keys.includes(key) &&
        !(since2016.has(key) && this.#context.version < '2016-10-14' && this.#context.dialect === 'hot');
      if (known) continue;
      const message = `"${key}" is not a valid keyword inside a resource definition`;
      const nearest = keys.includes(key) ? undefined : nearestName(key, keys);
      this.#context.mistakes.add({
        code: 'UnknownKey',
        message,
        path: join(this.#path, key),
        at: entry.at,
        expected: keys.join(', '),
        found: key,
        nearest,
      });
    }
  }

  /** What may only be written in one form. A null is no form of anything. */
  #checkForms(): void {
    for (const [key, { forms, allows }] of Object.entries(writtenForms)) {
      const node = this.#node.entries.get(key)?.value;
      if (node && !allows(node)) {
        this.#refuse('WrongType', `Resource ${this.#name} ${key} type must be ${forms}`, key, node.at ?? this.#at);
      }
    }
  }

  /** Types that can be updated in parts say what may be set; the others take none. */
  #checkUpdatePolicy(resource: PlanResource, type: ResourceType, policy: Expression): void {
    if (type.open_properties || this.#context.templateOf.has(this.#name)) return;
    const schema = Object.hasOwn(updatePolicies, type.type) ? updatePolicies[type.type] : undefined;
    if (policy.kind === 'call') {
      this.#refuse('WrongType', `Resource ${this.#name} update_policy must be written out`, 'update_policy');
      return;
    }
    const entries = policy.kind === 'map' ? policy.entries.map(({ key, value }) => [key, value] as const) : [];
    const literals = policy.kind === 'literal' && isObject(policy.value) ? Object.entries(policy.value) : [];
    const properties = toRecord<Expression>([
      ...entries,
      ...literals.map(([key, value]) => [key, { kind: 'literal', value }] as const),
    ]);
    const { scope, mistakes } = this.#context;
    const policyType = { type: type.type, properties: { ...schema }, attributes: {} };
    const resolved = resolveProperties({
      resource: { ...resource, properties },
      type: policyType,
      scope,
      section: 'update_policy',
    });
    for (const { steps, ...mistake } of resolved.mistakes) {
      mistakes.add({ ...mistake, at: this.#locate(mistake.code, steps, 'update_policy') });
    }
  }

  #properties(): { known: [string, Expression][]; broken: Set<string> } {
    const node = this.#entry('properties');
    const broken = new Set<string>();
    if (!node) return { known: [], broken };
    const place = this.#place('properties', true);
    const [first] = node.kind === 'map' && node.entries.size === 1 ? node.entries.keys() : [];
    const isCall =
      first !== undefined &&
      isFunction(node) &&
      (first === 'if' || lookUp(first, this.#context.version) === 'function');
    if (node.kind === 'map' && !isCall) {
      const known: [string, Expression][] = [];
      for (const [name, { value }] of node.entries) {
        const built = this.#context.build.part(value, { ...place, path: join(place.path, name) });
        if (built === undefined) broken.add(name);
        else if (built !== vanished) known.push([name, built]);
      }
      return { known, broken };
    }
    return { known: this.#foldProperties(node, place), broken: new Set(['*']) };
  }

  /** Properties that come from a function as a whole: it may use parameters only, since their names must be known now. */
  #foldProperties(node: Node, place: Place): [string, Expression][] {
    const built = this.#context.build.value(node, place);
    if (!built) return [];
    const value = built.kind === 'map' ? built : evaluate(built, this.#context.scope, place.path);
    if (value === unknown) return [];
    if (typeof value === 'object' && value !== null && 'kind' in value && value === built) {
      return built.kind === 'map' ? built.entries.map((entry) => [entry.key, entry.value]) : [];
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#refuse('WrongType', `Resource ${this.#name} properties type must be object`, 'properties');
      return [];
    }
    return Object.entries(value).map(([name, item]) => [name, { kind: 'literal', value: item as never }]);
  }

  #place(key: string, orders: boolean): Place {
    return {
      path: join(this.#path, key),
      onReference: (reference) => {
        if (
          checkReference(reference, `${this.#name}.${key === 'properties' ? 'Properties' : key}`, this.#context) &&
          orders
        ) {
          this.#requires.add(reference.resource);
        }
      },
    };
  }

  #expression(key: string, orders: boolean): Expression | undefined {
    const node = this.#entry(key);
    return node && this.#context.build.value(node, this.#place(key, orders));
  }

  #dependsOn(): string[] {
    const node = this.#entry('depends_on');
    if (!node) return [];
    const items = node.kind === 'list' ? node.items : [node];
    return items.flatMap((item) => {
      if (item.kind !== 'scalar' || typeof item.value !== 'string') {
        this.#refuse(
          'WrongType',
          `Resource ${this.#name} depends_on type must be list or string`,
          'depends_on',
          item.at,
        );
        return [];
      }
      const { enabled, mistakes } = this.#context;
      const exists = enabled.get(item.value);
      if (exists === undefined) {
        const nearest = nearestName(item.value, enabled.keys());
        const message = `The specified reference "${item.value}" (in ${this.#name}) is incorrect.`;
        const path = join(this.#path, 'depends_on');
        mistakes.add({
          code: 'UnknownResource',
          message,
          path,
          at: item.at ?? this.#at,
          found: item.value,
          nearest,
          expected: listed(enabled.keys()),
        });
      }
      // One whose condition is false is silently left out.
      return exists ? [item.value] : [];
    });
  }

  #deletionPolicy(): PlanResource['deletion_policy'] {
    const node = this.#entry('deletion_policy');
    const built = node && this.#context.build.value(node, this.#place('deletion_policy', false));
    if (!node || !built) return undefined;
    const value = evaluate(built, this.#context.scope, join(this.#path, 'deletion_policy'));
    if (value === unknown) {
      const { resources, attributes } = referencesOf(built);
      if (resources.size + attributes.size > 0) {
        this.#refuse('InvalidDeletionPolicy', 'A deletion policy may depend on parameters only', 'deletion_policy');
      }
      return undefined;
    }
    const names = ['Delete', 'Retain', 'Snapshot'] as const;
    const lower = this.#context.version >= '2016-10-14';
    const found = names.find((name) => value === name || (lower && value === name.toLowerCase()));
    if (found === 'Snapshot' && !this.#takesSnapshots()) {
      this.#refuse('InvalidDeletionPolicy', '"Snapshot" deletion policy not supported', 'deletion_policy', node.at);
    } else if (!found) {
      const shown = typeof value === 'string' ? value : JSON.stringify(value);
      this.#refuse(
        'InvalidDeletionPolicy',
        `Invalid deletion policy "${shown}"; it must be one of ${names.join(', ')}`,
        'deletion_policy',
        node.at,
      );
    }
    return found;
  }

  #takesSnapshots(): boolean {
    const type = this.#context.typeOf.get(this.#name);
    return type?.open_properties === true || type?.actions?.includes('snapshot') === true;
  }

  /** What is known already is checked now; the rest when it is known. */
  #checkProperties(resource: PlanResource, type: ResourceType, broken: ReadonlySet<string>): void {
    const { mistakes } = resolveProperties({
      resource,
      type,
      scope: this.#context.scope,
      siblings: this.#context.enabled,
      hidden: this.#context.hidden,
      isTemplate: this.#context.templateOf.has(this.#name),
    });
    for (const { steps, ...mistake } of mistakes) {
      // What did not compile has been reported; that it is missing now is no second mistake.
      if (mistake.code === 'ConstraintBroken' && steps.length === 0 && broken.size > 0) continue;
      if (
        mistake.code === 'MissingProperty' &&
        steps.length === 0 &&
        [...broken].some((name) => name === '*' || mistake.message.endsWith(`: Property ${name} not assigned`))
      )
        continue;
      this.#context.mistakes.add({ ...mistake, at: this.#locate(mistake.code, steps) });
    }
    for (const name of broken) {
      if (name !== '*' && !type.open_properties && !Object.hasOwn(type.properties, name)) {
        const at = this.#locate('UnknownProperty', [name]);
        const path = `${this.#path}.properties.${name}`;
        this.#context.mistakes.add({
          code: 'UnknownProperty',
          message: `Property error: ${path}: Unknown Property ${name}`,
          path,
          at,
          found: name,
          nearest: nearestName(name, Object.keys(type.properties)),
        });
      }
    }
  }

  /** The place of a property in the text: of the key where the name is wrong, of the value where the value is. */
  #locate(code: string, steps: PropertyMistake['steps'], section = 'properties'): Source | undefined {
    const properties = this.#node.entries.get(section);
    let at = properties?.at ?? this.#at;
    let node = properties?.value;
    for (const [index, step] of steps.entries()) {
      const isLast = index === steps.length - 1;
      if (node?.kind === 'map') {
        const entry: Entry | undefined = node.entries.get(String(step));
        if (!entry) return at;
        at = (isLast && code === 'UnknownProperty' ? entry.at : entry.value.at) ?? entry.at ?? at;
        node = entry.value;
      } else if (node?.kind === 'list' && typeof step === 'number') {
        node = node.items[step];
        at = node?.at ?? at;
      } else return at;
    }
    return at;
  }
}

/** True when the resource exists. `where` is the place in Heat's words. */
export function checkReference(
  { resource, attribute, function: name, at, path }: Reference,
  where: string,
  { enabled, typeOf, templateOf, mistakes }: Pick<ResourceContext, 'enabled' | 'typeOf' | 'templateOf' | 'mistakes'>,
): boolean {
  if (!enabled.get(resource)) {
    const nearest = enabled.has(resource) ? undefined : nearestName(resource, enabled.keys());
    const message = `The specified reference "${resource}" (in ${where}) is incorrect.`;
    const expected = listed([...enabled].flatMap(([other, exists]) => (exists ? [other] : [])));
    mistakes.add({ code: 'UnknownResource', message, path, at, found: resource, nearest, expected });
    return false;
  }
  const type = typeOf.get(resource);
  if (
    name === 'get_attr' &&
    type &&
    attribute !== undefined &&
    !type.open_attributes &&
    attribute !== 'show' &&
    !(templateOf.has(resource) && attribute.startsWith('resource.')) &&
    !Object.hasOwn(type.attributes, attribute)
  ) {
    const known = Object.keys(type.attributes);
    const message = `The Referenced Attribute (${resource} ${attribute}) is incorrect.`;
    mistakes.add({
      code: 'UnknownAttribute',
      message,
      path,
      at,
      found: attribute,
      nearest: nearestName(attribute, known),
      expected: known.join(', '),
    });
  }
  return true;
}
