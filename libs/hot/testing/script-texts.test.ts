import { describe, expect, it } from 'vitest';
import { compile } from '../compile.ts';
import { types } from './types-and-compile.ts';

const windows = '#!/bin/sh\r\nset -e\r\n';
const quoted = JSON.stringify(windows);

function warningsOf(
  resource: string,
  more: { files?: Record<string, string>; parameters?: Record<string, string> } = {},
) {
  const template = `heat_template_version: 2018-08-31
parameters: {p: {type: string, default: x}}
resources:
  s: {type: OS::Nova::Server, properties: {flavor: baremetal, image: i}}
  c: ${resource}
`;
  const result = compile({ template, stackName: 's', stackId: '', projectId: 'p', types, ...more });
  if (!('plan' in result)) throw new Error(JSON.stringify(result.mistakes));
  return result.warnings.map(({ code, path, line, message }) => ({ code, path, line, message }));
}
const ordered = (script: string): string =>
  `{type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_resource: s}, ${script}}}`;
const software = (rest: string): string => `{type: OS::Heat::SoftwareConfig, properties: {${rest}}}`;

describe('a script that was saved on Windows', () => {
  it.each<[string, string, string]>([
    ['an ordered config', ordered(`script: ${quoted}`), 'script'],
    ['an ordered config without an interpreter', ordered('script: "set -e\\r\\n"'), 'script'],
    ['the config of a tool', ordered(`group: mytool, config: ${quoted}`), 'config'],
    ['a software config', software(`group: script, config: "set -e\\r\\n"`), 'config'],
    ['a config for cloud-init', software(`config: ${quoted}`), 'config'],
    ['a file', software(`group: script, config: {get_file: run.sh}`), 'config'],
    ['a parameter', software('group: script, config: {get_param: p}'), 'config'],
    [
      'a template of a text',
      software('config: {str_replace: {template: {get_file: run.sh}, params: {A: b}}}'),
      'config',
    ],
    [
      'a text that is replaced',
      software('config: {str_replace: {template: "#!/bin/sh\\nTEXT", params: {TEXT: {get_param: p}}}}'),
      'config',
    ],
    [
      'a template around a value that is not known yet',
      software('config: {str_replace: {template: {get_file: run.sh}, params: {A: {get_attr: [s, first_address]}}}}'),
      'config',
    ],
    [
      'a component',
      `{type: OS::Heat::SoftwareComponent, properties: {configs: [{tool: script, config: ${quoted}}]}}`,
      'configs.0.config',
    ],
    ['a part', `{type: OS::Heat::MultipartMime, properties: {parts: [{config: ${quoted}}]}}`, 'parts.0.config'],
    [
      'user data',
      `{type: OS::Nova::Server, properties: {flavor: baremetal, image: i, user_data_format: RAW, user_data: ${quoted}}}`,
      'user_data',
    ],
  ])('is reported at its line: %s', (_, resource, property) => {
    const more = { files: { 'run.sh': windows }, parameters: { p: windows } };
    expect(warningsOf(resource, more)).toEqual([
      {
        code: 'ScriptText',
        path: `resources.c.properties.${property}`,
        line: 5,
        message: expect.stringMatching(/resource c may fail because of its script.*ends with CRLF/),
      },
    ]);
  });

  it('is named by its file', () => {
    const [warning] = warningsOf(software('group: script, config: {get_file: run.sh}'), {
      files: { 'run.sh': windows },
    });
    expect(warning?.message).toContain('the file run.sh: line 1 ends with CRLF');
  });
});

it('a byte order mark before a config of cloud-init is reported', () => {
  const [warning] = warningsOf(software(String.raw`config: "\uFEFF#cloud-config\npackages: []\n"`));
  expect(warning?.message).toContain('byte order mark');
});

it.each([
  ['a config for another tool', software('group: ansible, config: "- hosts: all\\r\\n"')],
  ['a config of cloud-init', software('config: "#cloud-config\\r\\npackages: []\\r\\n"')],
  ['a usual script', ordered('script: "#!/bin/sh\\nset -e\\n"')],
])('a text that its reader understands is not reported: %s', (_, resource) => {
  expect(warningsOf(resource)).toEqual([]);
});
