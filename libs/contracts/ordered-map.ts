/**
 * Maps whose keys keep their order. A JavaScript object moves keys that look like integers to the front. Where this would
 * change the order, the object stands behind a proxy that names its keys in the order in which they were written:
 * `Object.keys`, `for … in` and `JSON.stringify` see that order. A copy by spread does not.
 */

/** Only these keys are moved. A longer text, and one with a leading zero, is a key like any other. */
const isMoved = (name: string): boolean => {
  const code = name.charCodeAt(0);
  return code >= 0x30 && code <= 0x39;
};

/** Keeps the given order. A repeated key keeps its position and takes the last value. `__proto__` is an ordinary key. */
export function toRecord<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const pairs = Array.isArray(entries) ? (entries as readonly (readonly [string, T])[]) : [...entries];
  const record = Object.fromEntries(pairs);
  return pairs.some(([name]) => isMoved(name)) ? withOrder(record, new Set(pairs.map(([name]) => name))) : record;
}

/** A copy of the first map with the entries of the others: a new key comes last, and a known one keeps its place. */
export const joinRecords = <T>(...records: readonly Readonly<Record<string, T>>[]): Record<string, T> =>
  toRecord(records.flatMap((record) => Object.entries(record)));

/** A copy of a map without a key. */
export const withoutKey = <T>(record: Readonly<Record<string, T>>, name: string): Record<string, T> =>
  toRecord(Object.entries(record).filter(([key]) => key !== name));

/** The object with its keys in this order. */
export function withOrder<T extends object>(record: T, names: ReadonlySet<string>): T {
  let index = 0;
  const natural = Object.keys(record);
  for (const name of names) {
    if (natural[index] !== name) return new Proxy<T>(record, new Order(names));
    index += 1;
  }
  return record;
}

class Order implements ProxyHandler<object> {
  readonly #names: ReadonlySet<string>;

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  ownKeys(record: object): (string | symbol)[] {
    const known = Reflect.ownKeys(record);
    const kept = [...this.#names].filter((name) => Object.hasOwn(record, name));
    return [...kept, ...known.filter((name) => typeof name === 'symbol' || !this.#names.has(name))];
  }
}
