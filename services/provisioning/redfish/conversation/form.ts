/**
 * The form of one request: controllers demand other properties than the standard does, and say so in a description of the
 * action or in their refusal. Pure.
 *
 * F1 What the description calls required is in the first request.
 * F2 A refusal for the form leads to another request, never to the same one: with the property that it misses, with another
 *    value of one that was added, or without one that it does not know.
 * F3 A property without a known value is not invented. The error names it.
 */
import type { Sending } from './http.ts';
import { messagesIn, type BmcMessage } from './messages.ts';

type Body = Readonly<Record<string, unknown>>;

/** A parameter of an action, as the controller describes it. */
export interface ActionParameter {
  readonly name: string;
  readonly isRequired: boolean;
  /** Undefined when the controller lists none. */
  readonly allowed: readonly string[] | undefined;
}

export interface Form {
  /** True values of properties that a controller may demand, the best first. */
  readonly known: Readonly<Record<string, readonly unknown[]>>;
  /** Properties of the request that a controller may not know. */
  readonly optional?: readonly string[];
  readonly parameters?: readonly ActionParameter[];
}

/** A change of a controller. */
export type BmcChange = Pick<Sending, 'path' | 'body' | 'etag' | 'what'> & {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** The properties that the controller may demand beside those of the body. Absent: its refusal is final. */
  readonly form?: Form;
};

/** The value of `TransferProtocolType` for an address. */
export const transferProtocol = (url: string): string => new URL(url).protocol.slice(0, -1).toUpperCase();

export type Reform =
  | { readonly kind: 'send' }
  /** The request cannot be sent as the controller demands it. */
  | { readonly kind: 'lacks'; readonly names: readonly string[] }
  /** The refusal is not about the form. */
  | { readonly kind: 'refused' };

const missing = /Missing/;
const required = /\b(?:required?|requires|missing|mandatory|must)\b/i;
const strange = /Unknown|NotSupported|NotWritable|ReadOnly|Unrecognized/;
const property = /\b(?:property|parameter|field|argument)\s+['"“‘]?([A-Z]\w*)/gi;

export class RequestForm {
  readonly #given: Body;
  readonly #form: Form;
  /** The names of added properties, each with the place of its value among those known. */
  readonly #added = new Map<string, number>();
  readonly #dropped = new Set<string>();
  #isFull = false;

  constructor(given: Body, form: Form) {
    this.#given = given;
    this.#form = form;
    for (const { name, isRequired } of form.parameters ?? []) if (isRequired) this.#add(name);
  }

  get body(): Body {
    const added = [...this.#added].map(([name, at]) => [name, this.#valuesOf(name)[at]]);
    const given = Object.entries(this.#given).filter(([name]) => !this.#dropped.has(name));
    return Object.fromEntries([...given, ...added]);
  }

  /** Adapts the request to a refusal. */
  reform(refusal: Body): Reform {
    const named = this.#namedIn(messagesIn(refusal));
    const outcomes = [...named].map(([name, messages]) => ({ name, outcome: this.#follow(name, messages) }));
    if (outcomes.some(({ outcome }) => outcome === 'changed')) return { kind: 'send' };
    const names = outcomes.flatMap(({ name, outcome }) => (outcome === 'lacks' ? [name] : []));
    if (names.length > 0) return { kind: 'lacks', names };
    if (outcomes.length > 0 || this.#isFull) return { kind: 'refused' };
    // A refusal without a word about the form: once, everything that is known is sent.
    this.#isFull = true;
    const isMore = Object.keys(this.#form.known).map((name) => this.#add(name));
    return { kind: isMore.includes(true) ? 'send' : 'refused' };
  }

  #follow(name: string, messages: readonly BmcMessage[]): 'changed' | 'lacks' | 'other' {
    const isStrange = messages.some(({ key }) => strange.test(key));
    const at = this.#added.get(name);
    if (at !== undefined) {
      if (!isStrange && at + 1 < this.#valuesOf(name).length) this.#added.set(name, at + 1);
      else if (isStrange) this.#drop(name);
      else return 'lacks';
      return 'changed';
    }
    if (this.#dropped.has(name)) return 'lacks';
    if (name in this.#given) {
      if (!isStrange || this.#form.optional?.includes(name) !== true) return 'other';
      this.#drop(name);
      return 'changed';
    }
    if (!isStrange && this.#add(name)) return 'changed';
    return messages.some(({ key, text }) => missing.test(key) || required.test(text)) ? 'lacks' : 'other';
  }

  #add(name: string): boolean {
    const isPossible = !(name in this.#given) && !this.#added.has(name) && !this.#dropped.has(name);
    if (!isPossible || this.#valuesOf(name).length === 0) return false;
    this.#added.set(name, 0);
    return true;
  }

  #drop(name: string): void {
    this.#added.delete(name);
    this.#dropped.add(name);
  }

  /** The known values that the controller allows, in its spelling. */
  #valuesOf(name: string): readonly unknown[] {
    const values = Object.hasOwn(this.#form.known, name) ? (this.#form.known[name] ?? []) : [];
    const allowed = this.#form.parameters?.find((each) => each.name === name)?.allowed;
    if (allowed === undefined) return values;
    return values.flatMap((value) =>
      typeof value === 'string' ? (allowed.find((each) => each.toLowerCase() === value.toLowerCase()) ?? []) : [value],
    );
  }

  /** The properties that the messages are about. */
  #namedIn(messages: readonly BmcMessage[]): Map<string, BmcMessage[]> {
    const { known, parameters = [] } = this.#form;
    const names = new Set([...Object.keys(known), ...Object.keys(this.#given), ...parameters.map(({ name }) => name)]);
    const found = new Map<string, BmcMessage[]>();
    for (const message of messages) {
      const { key, text, args, properties } = message;
      const words = [...args, ...(text.match(/\w+/g) ?? [])].filter((word) => names.has(word));
      // The other arguments name the action.
      const missed = missing.test(key) ? args.slice(-1) : [];
      const others = required.test(text) ? [...text.matchAll(property)].map(([, name = '']) => name) : [];
      for (const name of new Set([...properties, ...words, ...missed, ...others]))
        if (/^[A-Z@]/.test(name)) found.set(name, [...(found.get(name) ?? []), message]);
    }
    return found;
  }
}
