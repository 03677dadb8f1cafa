/** The templates of a tree. A template is written once, and its values are computed for each stack that uses it. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { TemplateDraft, type TreeTypes } from './draft.ts';
import type { ExpectedStack } from './expected.ts';

export interface TemplateType {
  readonly file: string;
  /** Writes the template. It must write the same text for all parameters. */
  readonly write: (draft: TemplateDraft) => void;
}

export class Library implements TreeTypes {
  readonly files = new Map<string, string>();
  readonly #types: ReadonlyMap<string, TemplateType>;
  readonly #defaults: JsonObject;
  readonly #used = new Set<string>();

  constructor({ types, defaults }: { types: Readonly<Record<string, TemplateType>>; defaults: JsonObject }) {
    this.#types = new Map(Object.entries(types));
    this.#defaults = defaults;
  }

  has(type: string): boolean {
    return this.#types.has(type);
  }

  build(type: string, given: JsonObject): ExpectedStack {
    const found = this.#types.get(type);
    if (!found) throw new Error(`The tree has no template for the type ${type}.`);
    this.#used.add(type);
    const draft = this.draft(found, given);
    const text = JSON.stringify(draft.template(), null, 1);
    const before = this.files.get(found.file);
    if (before !== undefined && before !== text)
      throw new Error(`${found.file} differs between two stacks of the type ${type}.`);
    this.files.set(found.file, text);
    return draft.expected;
  }

  draft({ write }: Pick<TemplateType, 'write'>, given: JsonObject): TemplateDraft {
    const draft = new TemplateDraft({ types: this, given, defaults: this.#defaults });
    write(draft);
    return draft;
  }

  environment(): JsonObject {
    const registry: [string, Json][] = [...this.#used].map((type) => [type, this.#types.get(type)?.file ?? null]);
    return { resource_registry: Object.fromEntries(registry), parameter_defaults: this.#defaults };
  }
}
