/** The members of a group, a chain or a group of deployments, and how a template reads them. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ExpectedStack } from './expected.ts';
import type { KnownValue } from './known.ts';

export interface TreeMember {
  readonly name: string;
  readonly type: string;
  /** The nested stack, or the attributes of a resource without one. */
  readonly inner?: ExpectedStack;
  readonly attributes?: JsonObject;
}

export class TreeGroup {
  readonly expected: ExpectedStack;
  readonly #name: string;
  readonly #members: readonly TreeMember[];

  constructor(name: string, members: readonly TreeMember[]) {
    this.#name = name;
    this.#members = members;
    this.expected = {
      outputs: {},
      resources: Object.fromEntries(
        members.map(({ name: member, ...resource }) => [member, { ...resource, lasting: resource.type }]),
      ),
    };
  }

  /** An output, or a path in it, of all members as a list. */
  read(output: string, ...path: string[]): KnownValue<Json[]> {
    const value = this.#members.map((member) =>
      path.reduce<Json>((found, key) => (found as JsonObject)[key] ?? null, this.#of(member, output)),
    );
    return { hot: { get_attr: [this.#name, output, ...path] }, value };
  }

  /** An output of all members as a map. */
  readMap(output: string): KnownValue<JsonObject> {
    const value = Object.fromEntries(this.#members.map((member) => [member.name, this.#of(member, output)]));
    return { hot: { get_attr: [this.#name, 'attributes', output] }, value };
  }

  /** An output of one member. */
  readOne(index: number, output: string): KnownValue {
    const member = this.#members[index];
    return {
      hot: { get_attr: [this.#name, `resource.${index}`, output] },
      value: member ? this.#of(member, output) : null,
    };
  }

  /** An output of each deployment of a group, by server. */
  readAll(output: string): KnownValue<JsonObject> {
    const value = Object.fromEntries(this.#members.map((member) => [member.name, this.#of(member, output)]));
    return { hot: { get_attr: [this.#name, output] }, value };
  }

  #of({ inner, attributes }: TreeMember, output: string): Json {
    return (inner ? inner.outputs : attributes)?.[output] ?? null;
  }
}
