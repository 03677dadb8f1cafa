/** Finds the definitions of resource types. */
import type { PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { servedType, type Typed } from '@anneal/convergence/documents.ts';

export class TypeDefinitions {
  readonly #typeOf: (type: string) => ResourceType | undefined;

  constructor(typeOf: (type: string) => ResourceType | undefined) {
    this.#typeOf = typeOf;
  }

  /** Undefined for a type that no provider has announced. */
  announced(type: string): ResourceType | undefined {
    return this.#typeOf(type);
  }

  /** The type whose provider serves the resource. */
  servedBy(resource: Typed): ResourceType | undefined {
    const type = servedType(resource);
    return type === undefined ? undefined : this.#typeOf(type);
  }

  /** Accepts any property of a type that no provider has announced; its provider may still refuse the request. */
  of(type: string): ResourceType {
    return this.#typeOf(type) ?? openType(type);
  }

  ofPlanned({ type, nested }: PlanResource): ResourceType {
    return nested?.kind === 'template' ? openType(type) : this.of(type);
  }
}

/** A type that accepts all properties. The compiler checks the parameters of a nested template. */
export const openType = (type: string): ResourceType => ({
  type,
  properties: {},
  attributes: {},
  open_properties: true,
  open_attributes: true,
});
