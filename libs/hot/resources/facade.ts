/**
 * Checks that a template can replace a type: it accepts the type's properties in the same forms and has its attributes.
 */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';

/** Refuses a template that cannot replace the type whose name it has. Mistakes are added. */
export function checkFacade({
  facade,
  provider,
  type,
}: {
  facade: ResourceType;
  provider: ResourceType;
  /** Name under which the template is registered. */
  type: string;
}): string[] {
  const found: string[] = [];
  const own = (schemas: ResourceType['properties'], name: string): PropertySchema | undefined =>
    Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  for (const [name, schema] of Object.entries(facade.properties)) {
    const given = own(provider.properties, name);
    if (!given && schema.required) found.push(`Required property ${name} for facade ${type} missing in provider`);
    // Parameters have no integers, only numbers.
    const expected = schema.type === 'Integer' ? 'Number' : schema.type;
    // No parameter type accepts every value; a value that this one does not accept is refused when it is given.
    if (given && expected !== 'Any' && given.type !== expected) {
      const types = `between facade ${type} (${schema.type}) and provider (${given.type})`;
      found.push(`Property ${name} type mismatch ${types}`);
    }
  }
  if (!facade.open_properties) {
    for (const [name, schema] of Object.entries(provider.properties)) {
      if (schema.required && !own(facade.properties, name)) {
        found.push(`Provider requires property ${name} unknown in facade ${type}`);
      }
    }
  }
  for (const name of Object.keys(facade.attributes)) {
    if (name !== 'show' && !Object.hasOwn(provider.attributes, name)) {
      found.push(`Attribute ${name} for facade ${type} missing in provider`);
    }
  }
  return found;
}
