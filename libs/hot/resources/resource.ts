/** Compiles one resource of the template to one of the plan. */
import type { Expression, PlanResource, PlanSource } from '@anneal/contracts/plan.ts';
import { type Build, type Place, vanished } from '../expressions/build.ts';
import { evaluate, unknown } from '../evaluate.ts';
import { lookUpFunction } from '../functions/table.ts';
import { hiddenValue, join, listed, nearestName } from '../mistakes.ts';
import { type MappingEntry, isNull, type MapNode, type YamlNode, toRecord } from '@anneal/python/yaml/node.ts';
import { referencesOf } from '../tree/references.ts';
import { checkReference, type ResourceContext, type WrittenResource } from './resource-context.ts';
import { checkForms, checkKeys, isFunction } from './resource-form.ts';
import { checkProperties, checkUpdatePolicy } from './resource-properties.ts';

/** Whether the resource exists. Undefined when it depends on a parameter that has no value yet. */
export function isEnabled(
  name: string,
  node: YamlNode,
  { build, hasConditions }: { build: Build; hasConditions: boolean },
): boolean | undefined {
  if (node.kind !== 'map' || !hasConditions) return true;
  const condition = node.entries.get('condition');
  if (!condition || isNull(condition.value)) return true;
  return build.conditions.use(condition.value, `resources.${name}.condition`);
}

/** The resource of the plan. Undefined after a mistake that leaves none. */
export function compileResource(name: string, entry: MappingEntry, context: ResourceContext): PlanResource | undefined {
  const { value: node, at } = entry;
  if (node.kind !== 'map') return undefined;
  return new ResourceCompiler({ name, node, at, path: join('resources', name) }, context).compile();
}

class ResourceCompiler {
  readonly #written: WrittenResource;
  readonly #name: string;
  readonly #node: MapNode;
  readonly #at: PlanSource | undefined;
  readonly #path: string;
  readonly #context: ResourceContext;
  readonly #requires = new Set<string>();

  constructor(written: WrittenResource, context: ResourceContext) {
    this.#written = written;
    this.#name = written.name;
    this.#node = written.node;
    this.#at = written.at;
    this.#path = written.path;
    this.#context = context;
  }

  compile(): PlanResource | undefined {
    checkKeys(this.#written, this.#context);
    const type = this.#context.typeOf.get(this.#name);
    const properties = this.#properties();
    const metadata = this.#expression('metadata', true);
    const updatePolicy = this.#expression('update_policy', false);
    const externalId = this.#expression('external_id', false);
    checkForms(this.#written, this.#context);
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
    // With external_id Anneal creates nothing, so no property is required.
    if (type && !externalId)
      checkProperties(this.#written, { resource, type, broken: properties.broken }, this.#context);
    if (type && updatePolicy) checkUpdatePolicy(this.#written, { resource, type, policy: updatePolicy }, this.#context);
    return resource;
  }

  #entry(key: string): YamlNode | undefined {
    const entry = this.#node.entries.get(key);
    return entry && !isNull(entry.value) ? entry.value : undefined;
  }

  #refuse(code: string, message: string, key: string, at = this.#node.entries.get(key)?.at ?? this.#at): void {
    this.#context.mistakes.add({ code, message, path: join(this.#path, key), at });
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
      (first === 'if' || lookUpFunction(first, this.#context.version) === 'function');
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

  /**
   * Evaluates a function that gives all properties. It may use only parameters, because the names must be known now.
   */
  #foldProperties(node: YamlNode, place: Place): [string, Expression][] {
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
    const isHidden = this.#context.scope.isHidden?.(built) === true;
    return Object.entries(value).map(([name, item]) => [
      name,
      isHidden ? partOf(built, name) : { kind: 'literal', value: item as never },
    ]);
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
      // A requirement whose condition is false is left out without a mistake.
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
      const isHidden = this.#context.scope.isHidden?.(built) === true;
      const shown = isHidden ? hiddenValue : typeof value === 'string' ? value : JSON.stringify(value);
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
}

/** The entry of a computed map, as an expression: a plan carries no hidden value as a literal. */
const partOf = (map: Expression, key: string): Expression => ({
  kind: 'call',
  function: 'Fn::Select',
  arguments: { kind: 'list', items: [{ kind: 'literal', value: key }, map] },
});
