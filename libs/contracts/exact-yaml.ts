/** Writes YAML with numbers as they were read. The caller loads the package, because a short command needs none. */
import type {
  CreateNodeOptions,
  DocumentOptions,
  Scalar,
  ScalarTag,
  SchemaOptions,
  stringify,
  Tags,
  ToStringOptions,
} from 'yaml';
import { type Exact, isExact } from './exact-number.ts';

type YamlOptions = DocumentOptions & SchemaOptions & CreateNodeOptions & ToStringOptions;

/** The text of a value. */
export function exactYaml(
  yaml: { readonly stringify: typeof stringify; readonly Scalar: typeof Scalar },
  value: unknown,
  options: YamlOptions,
): string {
  // The package itself takes the plain number of each object that is one.
  const asNode = (_key: unknown, each: unknown): unknown => (isExact(each) ? new yaml.Scalar(each) : each);
  return yaml.stringify(value, asNode, { ...options, customTags: (tags: Tags) => [exactTag, ...tags] });
}

const exactTag: ScalarTag = {
  identify: isExact,
  default: true,
  tag: 'tag:yaml.org,2002:float',
  stringify: ({ value }) => (value as Exact).source,
  resolve: Number,
};
