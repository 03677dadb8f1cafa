/** Templates of the bench of stacks. */

const head = 'heat_template_version: 2016-10-14';

/** Independent resources of one type. It is an alias, because a server refuses a template of more than 512 KiB. */
const flat =
  (type: string, properties: (index: number) => string) =>
  (count: number): string => {
    const line = (index: number): string =>
      ` v${index}: {type: ${index === 0 ? `&t ${type}` : '*t'}, properties: {${properties(index)}}}`;
    return [head, 'resources:', ...Array.from({ length: count }, (_, index) => line(index))].join('\n');
  };

export const values = flat('OS::Heat::Value', (index) => `value: ${index}`);
/** Values, and one more that is a parameter with a default. */
export const valuesWithLeaf = (count: number, leaf: string): string =>
  [
    values(count - 1),
    ' last: {type: *t, properties: {value: {get_param: leaf}}}',
    `parameters: {leaf: {type: string, default: ${leaf}}}`,
  ].join('\n');
export const randomStrings = flat('OS::Heat::RandomString', () => 'length: 16');
/** Their provider answers each request by a message. */
export const testResources = flat('OS::Heat::TestResource', (index) => `value: t${index}`);

/** Values of which each reads the one before. */
export function valueChain(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const value = index === 0 ? '0' : `{get_attr: [v${index - 1}, value]}`;
    return `  v${index}: {type: OS::Heat::Value, properties: {value: ${value}}}`;
  });
  return [head, 'resources:', ...lines].join('\n');
}

export const group = (count: number): string =>
  [
    head,
    'resources:',
    '  group:',
    '    type: OS::Heat::ResourceGroup',
    `    properties: {count: ${count}, resource_def: {type: OS::Heat::Value, properties: {value: member %index%}}}`,
  ].join('\n');
