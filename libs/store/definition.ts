/** The rules for the definition of a collection, on every adapter. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { CollectionDefinition } from './port.ts';

/** @throws AnnealError Defect for a definition that no adapter could hold. */
export function checkDefinition({ name, indexes }: CollectionDefinition): void {
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
    for (const field of fields) {
      if (!/^[^."'\s]+(\.[^."'\s]+)*$/.test(field)) {
        throw new AnnealError('Defect', `${name}: "${field}" is not a path into a document.`);
      }
    }
  }
}
