/** A stored template as text. Its comments are not stored. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { exactYaml } from '@anneal/contracts/exact-yaml.ts';
import { Scalar, stringify } from 'yaml';

/** As YAML 1.1 reads it, which the server does: `yes` stays text. */
export const yamlOf = (document: JsonObject): string =>
  exactYaml({ stringify, Scalar }, document, { version: '1.1', lineWidth: 100, blockQuote: 'literal' }).replaceAll(
    /\n(?=[\w.-]+:)/g,
    '\n\n',
  );
