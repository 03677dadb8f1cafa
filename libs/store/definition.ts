/** The rules for the definition of a collection, on every adapter. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { CollectionDefinition } from './port.ts';

/** The paths whose values each document has beside its body, each once: those of all indexes, and the listed ones. */
export const storedPaths = ({ indexes, listed = [] }: Pick<CollectionDefinition, 'indexes' | 'listed'>): string[] => [
  ...new Set([...indexes.flatMap(({ fields }) => fields), ...listed].filter((path) => path !== 'id')),
];

/** @throws AnnealError Defect for a path that `rows` cannot read */
export function assertStored(definition: CollectionDefinition, paths: readonly string[]): void {
  const stored = storedPaths(definition);
  const missing = paths.filter((path) => !stored.includes(path));
  if (missing.length === 0) return;
  throw new AnnealError('Defect', `${definition.name}: ${missing.join(', ')} is neither listed nor in an index.`);
}

/** @throws AnnealError Defect for a definition that no adapter could hold. */
export function checkDefinition({ name, indexes, listed = [] }: CollectionDefinition): void {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    throw new AnnealError('Defect', `The name of a collection must be <service>_<noun> in lower case, not "${name}".`);
  }
  for (const { fields, only } of indexes) {
    if (only && !fields.includes(only.field)) {
      throw new AnnealError(
        'Defect',
        `${name}: the index (${fields.join(', ')}) cannot be limited by ${only.field}, because that is not one of its fields.`,
      );
    }
    if (fields.length < 1 || fields.length > 4 || new Set(fields).size !== fields.length) {
      throw new AnnealError(
        'Defect',
        `${name}: an index must have one to four different fields, not (${fields.join(', ')}).`,
      );
    }
  }
  for (const path of [...indexes.flatMap(({ fields }) => fields), ...listed]) {
    if (!/^[^."'\s]+(\.[^."'\s]+)*$/.test(path)) {
      throw new AnnealError('Defect', `${name}: "${path}" is not a path into a document.`);
    }
  }
}
