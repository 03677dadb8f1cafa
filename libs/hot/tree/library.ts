/** The templates among the files. Each is read once, however many resources use it. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Environment } from '../environment/environment.ts';
import { Mistakes } from '../mistakes.ts';
import { isNull } from '@anneal/python/yaml/node.ts';
import { type ParameterSchema, type ParameterType, readParameterSchemas } from '../parameters/parameter-schema.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import { readTemplate, sectionEntries, sectionNode, type Template } from '../syntax/template.ts';

/** A template that is read, with the schemas of its parameters. */
export interface NestedTemplate {
  readonly file: string;
  readonly read: Template;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  /** The template as a type: its parameters are properties, its outputs are attributes. */
  readonly type: ResourceType;
  /** Mistakes in the template itself. When there are any, the other fields are as complete as possible. */
  readonly mistakes: readonly Mistake[];
}

/** Context for reading a template, besides its text. */
interface Reading {
  readonly defaults: Environment['defaults'];
  readonly work: EvaluationWork;
}

/** Types of properties by type of parameter. */
const propertyTypes: Readonly<Record<ParameterType, PropertySchema['type']>> = {
  string: 'String',
  number: 'Number',
  boolean: 'Boolean',
  comma_delimited_list: 'List',
  json: 'Map',
};

/** Reads each file at most once. One library may serve several compiles of the same files with the same defaults. */
export class TemplateLibrary {
  readonly files: ReadonlyMap<string, string>;
  readonly #parsed = new Map<string, Parsed>();
  readonly #read = new Map<string, NestedTemplate | undefined>();
  #parameters: { types: Map<string, ParameterType>; hidden: Set<string> } | undefined;

  constructor(files: Readonly<Record<string, string>>) {
    this.files = new Map(Object.entries(files));
  }

  names(): Iterable<string> {
    return this.files.keys();
  }

  /** Undefined when there is no such file. */
  get(file: string, { defaults, work }: Reading): NestedTemplate | undefined {
    if (!this.#read.has(file)) this.#read.set(file, this.#load(file, { defaults, work }));
    return this.#read.get(file);
  }

  /** Type of a parameter in any template among the files. Files that are not templates are skipped. */
  parameterType(name: string, work: EvaluationWork): ParameterType | undefined {
    return this.#allParameters(work).types.get(name);
  }

  /** Parameters that any template among the files hides. */
  hiddenParameters(work: EvaluationWork): ReadonlySet<string> {
    return this.#allParameters(work).hidden;
  }

  #allParameters(work: EvaluationWork): { types: Map<string, ParameterType>; hidden: Set<string> } {
    if (this.#parameters) return this.#parameters;
    const types = new Map<string, ParameterType>();
    const hiddenNames = new Set<string>();
    for (const file of this.files.keys()) {
      const { read, isWrong, schemas } = this.#parse(file, work) ?? {};
      if (!read || isWrong) continue;
      for (const [name, { type, hidden }] of schemas ?? []) {
        types.set(name, type);
        if (hidden) hiddenNames.add(name);
      }
    }
    return (this.#parameters = { types, hidden: hiddenNames });
  }

  #load(file: string, { defaults, work }: Reading): NestedTemplate | undefined {
    const parsed = this.#parse(file, work);
    return parsed && asType(parsed, { file, defaults });
  }

  #parse(file: string, work: EvaluationWork): Parsed | undefined {
    const content = this.files.get(file);
    if (content === undefined) return undefined;
    const parsed = this.#parsed.get(file) ?? parse({ content, file, work });
    this.#parsed.set(file, parsed);
    return parsed;
  }
}

/** Reads a template that is in no file. */
export function readNested(content: string | JsonObject, work: EvaluationWork): NestedTemplate {
  return asType(parse({ content, file: undefined, work }), { file: unnamed, defaults: new Map() });
}

/** A file that was read as a template. */
interface Parsed {
  /** Undefined: it is no template. */
  readonly read: Template | undefined;
  /** Whether there is a mistake outside of its parameters. */
  readonly isWrong: boolean;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly outputs: readonly string[];
  readonly mistakes: readonly Mistake[];
}

function parse({
  content,
  file,
  work,
}: {
  content: string | JsonObject;
  file: string | undefined;
  work: EvaluationWork;
}): Parsed {
  const mistakes = new Mistakes();
  const read = readTemplate({ content, file, mistakes });
  if (!read) return { read, isWrong: true, schemas: new Map(), outputs: [], mistakes: mistakes.all() };
  const isWrong = mistakes.any;
  const section = sectionNode(read, 'parameters');
  const schemas = readParameterSchemas({ section, version: read.version, mistakes, work });
  const outputs = [...sectionEntries(read, 'outputs', mistakes).keys()];
  return { read, isWrong, schemas, outputs, mistakes: mistakes.all() };
}

function asType(
  { read, schemas, outputs, mistakes }: Parsed,
  { file, defaults }: { file: string; defaults: Environment['defaults'] },
): NestedTemplate {
  if (!read) return { ...empty, file, mistakes };
  const properties = Array.from(schemas.values(), (schema): [string, PropertySchema] => [
    schema.name,
    propertyOf(schema, defaults),
  ]);
  const type: ResourceType = {
    type: file,
    description: read.description,
    properties: toRecord(properties),
    attributes: toRecord(outputs.map((output) => [output, {}])),
  };
  return { file, read, schemas, type, mistakes };
}

/** Heat's name for a template that is in no file. */
const unnamed = 'nested_stack';

const empty = {
  read: {
    version: '2021-04-16' as const,
    dialect: 'hot' as const,
    description: '',
    root: emptyMap(),
    source: emptyMap(),
  },
  schemas: new Map<string, ParameterSchema>(),
  // The properties of a template that cannot be read are unknown.
  type: { type: '', properties: {}, attributes: {}, open_properties: true, open_attributes: true },
} satisfies Omit<NestedTemplate, 'file' | 'mistakes'>;

function emptyMap(): Template['root'] {
  return { kind: 'map', entries: new Map(), at: undefined };
}

function propertyOf(schema: ParameterSchema, defaults: Environment['defaults']): PropertySchema {
  const preset = defaults.get(schema.name);
  const hasDefault = schema.default !== undefined || (preset !== undefined && !isNull(preset.value));
  return {
    type: propertyTypes[schema.type],
    update_allowed: true,
    ...(schema.description !== undefined && { description: schema.description }),
    ...(!hasDefault && { required: true }),
    ...(schema.constraints.length > 0 && { constraints: [...schema.constraints] }),
  };
}
