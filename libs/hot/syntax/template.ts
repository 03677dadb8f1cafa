/** Reads the version and the sections of a template. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { cfnVersions, normaliseCfn } from '../cfn/normalise.ts';
import { type Mistakes, nearestName } from '../mistakes.ts';
import {
  type MappingEntry,
  isNull,
  kindOfNode,
  type MapNode,
  type YamlNode,
  nullNode,
  toExact,
} from '@anneal/python/yaml/node.ts';
import { fromJson, parse } from './parse.ts';
import { aliases, findVersion, type Version, versions } from './version.ts';

const sections = [
  'heat_template_version',
  'description',
  'parameter_groups',
  'parameters',
  'conditions',
  'resources',
  'outputs',
];
/** In characters, as in Heat. */
const largestTemplate = 524_288;

/** A template that is read, not yet checked. */
export interface Template {
  readonly version: Version;
  /** `cfn`: written in CloudFormation's form; `root` has its sections under HOT's names. */
  readonly dialect: 'hot' | 'cfn';
  readonly description: string;
  readonly root: MapNode;
  /** Only in the dialect `cfn`: the maps that are calls. */
  readonly calls?: ReadonlySet<YamlNode>;
  /** The template as written. */
  readonly source: MapNode;
}

const written = new WeakMap<MapNode, JsonObject>();

/** The template as an object: the same one for each stack of a template that is read once. */
export function templateJson({ source }: Template): JsonObject {
  const known = written.get(source) ?? (toExact(source) as JsonObject);
  written.set(source, known);
  return known;
}

/** Undefined when the text is no template. Mistakes are added. */
export function readTemplate({
  content,
  file,
  mistakes,
}: {
  content: string | JsonObject;
  /** Undefined for the root template. */
  file?: string | undefined;
  mistakes: Mistakes;
}): Template | undefined {
  if (typeof content === 'string' && content.length > largestTemplate) {
    const message = `Template size (${content.length} characters) exceeds maximum allowed size (${largestTemplate} characters).`;
    mistakes.add({ code: 'TooLarge', message, path: '', at: undefined });
    return undefined;
  }
  const node =
    typeof content === 'string' ? parse({ text: content, file, mistakes }) : fromJson({ value: content, mistakes });
  if (!node) return undefined;
  if (node.kind !== 'map') {
    const message = 'The template is not a JSON object or YAML mapping.';
    mistakes.add({ code: 'WrongType', message, path: '', at: node.at, expected: 'a map', found: kindOfNode(node) });
    return undefined;
  }
  refuseSeveralVersions(node, mistakes);
  const format = Object.keys(cfnVersions).find((name) => node.entries.has(name));
  if (format !== undefined && !node.entries.has('heat_template_version')) return readCfn(node, format, mistakes);
  const version = readVersion(node, mistakes);
  checkSections(node, version, mistakes);
  const description = describe(node);
  // Read a template of an unknown version as the newest, so that its other mistakes are found too.
  return { version: version ?? '2021-04-16', dialect: 'hot', description, root: node, source: node };
}

/** Each key selects another language. */
function refuseSeveralVersions({ entries }: MapNode, mistakes: Mistakes): void {
  const known = ['heat_template_version', ...Object.keys(cfnVersions)];
  const present = [...entries].flatMap(([name, { value }]) =>
    known.includes(name) && value.kind === 'scalar' && typeof value.value === 'string' ? [name] : [],
  );
  const [, second] = present;
  if (second === undefined) return;
  const message = `The template version is invalid: Ambiguous versions (${present.join(', ')}). Keep one of them.`;
  const at = entries.get(second)?.at;
  mistakes.add({
    code: 'UnknownVersion',
    message,
    path: second,
    at,
    expected: 'one version',
    found: present.join(', '),
  });
}

/** Gives it the functions of the first version of HOT, which come from CloudFormation. `dialect` enables the others. */
function readCfn(source: MapNode, format: string, mistakes: Mistakes): Template {
  const entry = source.entries.get(format);
  const value = entry?.value.kind === 'scalar' ? String(entry.value.value) : '';
  const expected = cfnVersions[format] ?? '';
  if (value !== expected) {
    const message = `The template version is invalid: "${format}: ${value}". "${format}" should be one of: ${expected}`;
    const at = entry?.value.at ?? entry?.at;
    mistakes.add({ code: 'UnknownVersion', message, path: format, at, expected, found: value });
  }
  const { root, calls } = normaliseCfn(source, format, mistakes);
  return { version: '2013-05-23', dialect: 'cfn', calls, description: describe(root), root, source };
}

function describe({ entries }: MapNode): string {
  const node = entries.get('description')?.value;
  return node?.kind === 'scalar' && node.value !== null ? String(node.value) : 'No description';
}

function readVersion(root: MapNode, mistakes: Mistakes): Version | undefined {
  const key = 'heat_template_version';
  const refuse = (code: string, message: string, at: PlanSource | undefined, more: object = {}): undefined => {
    mistakes.add({ code, message, path: key, at, ...more });
    return undefined;
  };
  const entry = root.entries.get(key);
  const expected = [...versions, ...Object.keys(aliases)].join(', ');
  if (!entry) {
    return refuse('MissingVersion', 'Template format version not found.', root.at, { expected: key });
  }
  const value = entry.value.kind === 'scalar' ? String(entry.value.value) : kindOfNode(entry.value);
  const version = findVersion(value);
  if (version) return version;
  const message = `The template version is invalid: "heat_template_version: ${value}". "heat_template_version" should be one of: ${expected}`;
  const nearest = nearestName(value, [...versions, ...Object.keys(aliases)]);
  return refuse('UnknownVersion', message, entry.value.at ?? entry.at, { expected, found: value, nearest });
}

function checkSections(root: MapNode, version: Version | undefined, mistakes: Mistakes): void {
  const cfn = ['HeatTemplateFormatVersion', 'AWSTemplateFormatVersion'];
  for (const [name, entry] of root.entries) {
    const known =
      sections.includes(name) && !(name === 'conditions' && version !== undefined && version < '2016-10-14');
    if (known || cfn.includes(name)) continue;
    const nearest = sections.includes(name) ? undefined : nearestName(name, sections);
    const message = `The template section is invalid: ${name}`;
    mistakes.add({
      code: 'UnknownSection',
      message,
      path: name,
      at: entry.at,
      expected: sections.join(', '),
      found: name,
      nearest,
    });
  }
  if (root.entries.has('conditions')) {
    const conditions = root.entries.get('conditions');
    if (conditions && isNull(conditions.value)) {
      mistakes.add({
        code: 'WrongType',
        message: 'The section "conditions" must not be empty',
        path: 'conditions',
        at: conditions.at,
      });
    }
  }
}

/** The section; a null when the template does not have it. */
export function sectionNode(template: Template, name: string): YamlNode {
  return template.root.entries.get(name)?.value ?? nullNode(undefined);
}

/**
 * An empty list counts as an empty section where Heat does not check its form: more often in CloudFormation's dialect.
 */
function isEmptySection({ dialect }: Template, name: string, node: YamlNode): boolean {
  const isEmptyList = node.kind === 'list' && node.items.length === 0;
  if (dialect === 'hot') return name === 'outputs' && isEmptyList;
  return isEmptyList || (name === 'mappings' && node.kind !== 'map');
}

/** The entries of a section that must be a map. A mistake is added for another kind. */
export function sectionEntries(
  template: Template,
  name: string,
  mistakes: Mistakes,
): ReadonlyMap<string, MappingEntry> {
  const node = sectionNode(template, name);
  if (isNull(node) || isEmptySection(template, name, node)) return new Map();
  if (node.kind !== 'map') {
    const message = `The "${name}" section must be a map, not ${kindOfNode(node)}`;
    mistakes.add({ code: 'WrongType', message, path: name, at: node.at, expected: 'a map', found: kindOfNode(node) });
    return new Map();
  }
  const wrong = [...node.entries].filter(([key]) => isUnusable(key));
  if (wrong.length === 0) return node.entries;
  for (const [key, { at }] of wrong) {
    const shown = key.toWellFormed();
    const why = key === '__proto__' ? '' : ': it holds half of a character (a lone surrogate)';
    const message = `The name ${shown} is not allowed in ${name}${why}`;
    mistakes.add({ code: 'InvalidName', message, path: `${name}.${shown}`, at });
  }
  return new Map([...node.entries].filter(([key]) => !isUnusable(key)));
}

/**
 * Names that cannot be returned: a JavaScript object reads `__proto__` as its prototype, and a URL cannot hold a lone
 * surrogate.
 */
const isUnusable = (name: string): boolean => name === '__proto__' || !name.isWellFormed();
