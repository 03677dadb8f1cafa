/**
 * The generated half of the Python client, from the OpenAPI document: types for bodies and answers, and a function for
 * each operation. What a browser uses (sessions, WebSockets, tickets) is left out.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';

interface Content {
  schema?: JsonObject;
}
interface Operation {
  operationId: string;
  summary: string;
  parameters: { name: string; in: 'path' | 'query'; required: boolean; schema: JsonObject }[];
  requestBody?: { required: boolean; content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}
/** The parts of an OpenAPI document that the generator reads. */
export interface ClientDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonObject> };
}

const header = (what: string): string => `"""${what}

Generated from the OpenAPI document; \`npm run build:python\` writes it.
"""

from __future__ import annotations

`;

const isForBrowsers = (path: string): boolean => path === '/session' || /^\/events\/(ws|stream|ticket)$/.test(path);

/** The two generated modules of the Python client. */
export function pythonModules(document: ClientDocument): { types: string; operations: string } {
  const types = new PythonTypes(document.components.schemas);
  const all = Object.entries(document.paths)
    .filter(([path]) => !isForBrowsers(path))
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ method, path, operation, types })),
    );
  // A form is named after what a GET reads; other answers with the same form share that name.
  for (const each of all) if (each.method === 'get') methodOf(each);
  const methods = all.map(methodOf);
  return {
    types: `${header('The form of every body and answer.')}${types.text()}`,
    operations: `${header('A function for each operation of the API.')}${operationsHead}${methods.join('\n')}`,
  };
}

const operationsHead = `# mypy: disable-error-code=no-any-return
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal

from . import types
from .connection import Connection
from .stream import StreamedEvent


class Operations:
    """Every operation of \`/api/v1\`. Each raises \`AnnealError\` for a refusal and when no server answers."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

`;

function methodOf(asked: { method: string; path: string; operation: Operation; types: PythonTypes }): string {
  const { method, path, operation, types } = asked;
  const name = snake(operation.operationId);
  const pascal = operation.operationId.slice(0, 1).toUpperCase() + operation.operationId.slice(1);
  const places = operation.parameters.filter((each) => each.in === 'path').map((each) => each.name);
  const query = operation.parameters
    .filter((each) => each.in === 'query')
    .toSorted((one, other) => Number(other.required) - Number(one.required));
  const body = operation.requestBody;
  const bodyType = !body
    ? undefined
    : body.content['application/octet-stream']
      ? 'bytes | IO[bytes]'
      : types.alias(`${pascal}Body`, body.content['application/json']?.schema ?? {});
  const content = Object.entries(operation.responses).find(([status]) => status < '300')?.[1].content ?? {};
  const parameters = [
    'self',
    ...places.map((each) => `${safe(each)}: str`),
    ...(bodyType === undefined
      ? []
      : [`body: ${types.qualified(bodyType)}${body?.required === true ? '' : ' | None = None'}`]),
    ...(query.length > 0 ? ['*'] : []),
    ...query.map((each) => {
      const type = types.qualified(queryType(types, each, pascal));
      return each.required ? `${safe(each.name)}: ${type}` : `${safe(each.name)}: ${type} | None = None`;
    }),
  ];
  const address = path.replaceAll(/\{(\w+)\}/g, (_, each: string) => `{self.connection.segment(${safe(each)})}`);
  const url = `${places.length > 0 ? 'f' : ''}"${address}"`;
  const sent =
    query.length > 0 ? `, query={${query.map((each) => `"${each.name}": ${safe(each.name)}`).join(', ')}}` : '';
  const write = (function_: string, type: string, line: string): string => {
    const short = `    def ${function_}(${parameters.join(', ')}) -> ${type}:`;
    const long = `    def ${function_}(\n${parameters.map((each) => `        ${each},\n`).join('')}    ) -> ${type}:`;
    return `${short.length > 110 ? long : short}\n        """${textOf(operation.summary)}"""\n        ${line}\n`;
  };
  const call = (kind: string): string =>
    `self.connection.${kind}("${method.toUpperCase()}", ${url}${sent}${bodyType === undefined ? '' : ', body=body'})`;
  const stream = (function_: string): string =>
    write(function_, 'Iterator[StreamedEvent]', `return self.connection.stream(${url}${sent})`);
  const json = content['application/json'];
  if (content['application/octet-stream']) return write(name, 'bytes', `return ${call('read')}`);
  if (content['text/event-stream'] && !json) return stream(name.replace(/^get_/, 'stream_'));
  if (!json) return write(name, 'None', call('read'));
  const answer = types.qualified(types.of(json.schema ?? {}, answerNames(operation.operationId, pascal)));
  const page = write(name, answer, `return ${call('json')}`);
  return content['text/event-stream'] ? `${page}\n${stream(name.replace(/^list_/, 'stream_'))}` : page;
}

/** `getHost` answers a `Host`, where no other form has that name. */
function answerNames(operationId: string, pascal: string): string[] {
  const [, thing] = /^(?:get|create|store)([A-Z]\w*)$/.exec(operationId) ?? [];
  return thing === undefined ? [`${pascal}Answer`] : [thing, `${pascal}Answer`];
}

/** Addresses have texts; the schema says which texts are accepted. */
function queryType(types: PythonTypes, { name, schema }: { name: string; schema: JsonObject }, owner: string): string {
  const isList = Array.isArray(schema['anyOf']);
  if (schema['enum'] && JSON.stringify(schema['enum']) === '["true","false"]') return 'bool';
  return isList ? 'str | Sequence[str]' : types.of(schema, [`${owner}${pascalOf(name)}`]);
}

const keywords = new Set([
  'False',
  'None',
  'True',
  'and',
  'as',
  'class',
  'from',
  'global',
  'import',
  'in',
  'is',
  'not',
  'or',
  'pass',
  'with',
]);
const safe = (name: string): string => (keywords.has(name) ? `${name}_` : name.replaceAll('-', '_'));
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const pascalOf = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
const textOf = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"""', "'''");
const singularOf = (name: string): string =>
  /series$/i.test(name) ? name : name.replace(/ies$/, 'y').replace(/(?<!s)s$/, '');

/** Names each object form once: forms with the same text share a name. */
class PythonTypes {
  readonly #named = new Map<string, string>();
  readonly #written = new Map<string, string>();

  constructor(schemas: Readonly<Record<string, JsonObject>>) {
    for (const name of Object.keys(schemas)) this.#written.set(name, '');
    for (const [name, schema] of Object.entries(schemas)) {
      this.#written.set(name, '');
      if (isObject(schema)) this.#write(name, schema);
      else {
        const type = this.of(schema, [`${name}Form`]);
        const isBuiltIn = Object.values(plainTypes).includes(type);
        this.#written.set(name, `${name}: TypeAlias = ${isBuiltIn ? type : quoteForms(type)}\n`);
      }
    }
  }

  /** The type of a schema. An object form that has no name yet gets the first of these names that is free. */
  of(schema: JsonObject, names: readonly string[]): string {
    const reference = schema['$ref'];
    if (typeof reference === 'string') return reference.split('/').at(-1) ?? 'Any';
    if (schema['const'] !== undefined) return `Literal[${literal(schema['const'])}]`;
    if (Array.isArray(schema['enum'])) return `Literal[${schema['enum'].map(literal).join(', ')}]`;
    const choices = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(choices)) return this.#union(choices as JsonObject[], names);
    const type = schema['type'];
    if (Array.isArray(type))
      return this.#union(
        type.map((each) => ({ ...schema, type: each })),
        names,
      );
    if (type === 'array') return `list[${this.of((schema['items'] ?? {}) as JsonObject, names.map(singularOf))}]`;
    if (type === 'object') return this.#object(schema, names);
    return (typeof type === 'string' ? plainTypes[type] : undefined) ?? 'Any';
  }

  /** The type of a body: a choice of forms has a name of its own. */
  alias(name: string, schema: JsonObject): string {
    const type = this.of(schema, [name]).replace(/ \| None$/, '');
    if (!type.includes(' | ')) return type;
    this.#written.set(name, `\n${name}: TypeAlias = Union[${type.replaceAll(' | ', ', ')}]\n`);
    return name;
  }

  /** The same type for another module. */
  qualified(type: string): string {
    return type.replaceAll(/"[^"]*"|\b[A-Za-z]\w*/g, (word) => (this.#written.has(word) ? `types.${word}` : word));
  }

  text(): string {
    const forms = [...this.#written.values()].filter(Boolean);
    return `from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union\n\n${forms.join('\n')}`;
  }

  #union(choices: readonly JsonObject[], names: readonly string[]): string {
    const each = choices.map((choice) => this.of(choice, choiceNames(choice, names)));
    const all = [...new Set(each)];
    return all.includes('Any') ? 'Any' : all.join(' | ');
  }

  #object(schema: JsonObject, names: readonly string[]): string {
    if (!isObject(schema)) {
      const more = schema['additionalProperties'];
      const isTyped = typeof more === 'object' && more !== null && Object.keys(more).length > 0;
      return `dict[str, ${isTyped ? this.of(more as JsonObject, names.map(singularOf)) : 'Any'}]`;
    }
    const form = JSON.stringify(schema);
    const known = this.#named.get(form);
    if (known !== undefined) return known;
    const name = [...names, ...numbered(names.at(-1) ?? 'Form')].find((each) => !this.#written.has(each)) ?? 'Form';
    this.#named.set(form, name);
    this.#written.set(name, '');
    this.#write(name, schema);
    return name;
  }

  #write(name: string, schema: JsonObject): void {
    const required = new Set((schema['required'] ?? []) as string[]);
    const fields = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>).map(([key, value]) => {
      const own = pascalOf(key);
      const type = this.of(value, name.endsWith('Answer') ? [own, `${name}${own}`] : [`${name}${own}`]);
      const about = typeof value['description'] === 'string' ? value['description'] : undefined;
      return { key, type: required.has(key) ? type : `NotRequired[${type}]`, about };
    });
    const isPlain = fields.every(({ key }) => /^[A-Za-z_]\w*$/.test(key) && !keywords.has(key));
    const lines = fields.flatMap(({ key, type, about }) => [
      ...(about === undefined ? [] : [`    # ${about.replaceAll(/\s+/g, ' ')}`]),
      isPlain ? `    ${key}: ${type}` : `    ${JSON.stringify(key)}: ${JSON.stringify(type)},`,
    ]);
    const text = isPlain
      ? `\nclass ${name}(TypedDict):\n${lines.join('\n') || '    pass'}\n`
      : `\n${name} = TypedDict("${name}", {\n${lines.join('\n')}\n})\n`;
    // The form again at the end, so that forms come before those that have them.
    this.#written.delete(name);
    this.#written.set(name, text);
  }
}

const plainTypes: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

const isObject = (schema: JsonObject): boolean => schema['type'] === 'object' && schema['properties'] !== undefined;

const literal = (value: unknown): string =>
  value === true ? 'True' : value === false ? 'False' : value === null ? 'None' : JSON.stringify(value);

/** Names of a union that another form has as a value must be texts, because Python evaluates them at once. */
const quoteForms = (type: string): string => `"${type.replaceAll('"', "'")}"`;

/** A choice with a constant kind has its name after that kind: `…Pause`. */
function choiceNames(choice: JsonObject, names: readonly string[]): string[] {
  const properties = (choice['properties'] ?? {}) as Record<string, JsonObject>;
  const kind = Object.values(properties).find((each) => typeof each['const'] === 'string')?.['const'];
  return typeof kind === 'string' ? names.map((each) => `${each}${pascalOf(kind)}`) : [...names];
}

const numbered = (name: string): string[] => Array.from({ length: 50 }, (_, index) => `${name}${index + 2}`);
