/**
 * By path: `''` the type, `name` a property, `name.key` a key of it or of its items, `@name` an attribute. A text for a
 * path that a type does not have says nothing.
 */
export type TypeTexts = Readonly<Record<string, string>>;
