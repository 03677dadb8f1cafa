import { describe, expect, it } from 'vitest';
import { render } from '../render.ts';
import { softwareConfigTypes } from '../types/software-config.ts';
import { types as basic } from './types-and-compile.ts';

const types = [...basic, ...softwareConfigTypes];

const mistakesOf = (config: string, value: string) => {
  const template = `heat_template_version: 2018-08-31
parameters: {p: {type: string, default: x}, names: {type: json, default: [{name: url}]}}
resources:
  c:
${config}
outputs: {o: {value: ${value}}}`;
  const { mistakes = [] } = render({ template, stackName: 's', stackId: '', projectId: 'p', types }) as {
    mistakes?: readonly { code: string; path: string; nearest?: string; line?: number }[];
  };
  return mistakes.map(({ code, path, nearest }) => [code, path, nearest]);
};
const ordered = (outputs: string) =>
  `    {type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_param: p}, script: x${outputs}}}`;
const deployed = (outputs: string, { type = 'OS::Heat::SoftwareDeployment', config = '{get_resource: made}' } = {}) =>
  `    {type: ${type}, properties: {${type.includes('Group') ? 'servers: {}' : 'server: {get_param: p}'}, config: ${config}}}
  made: {type: OS::Heat::SoftwareConfig, properties: {config: x${outputs}}}`;
const url = ', outputs: [{name: url}]';
const mistake = ['UnknownAttribute', 'outputs.o.value.get_attr', 'url'];

describe('an output that no config declares', () => {
  it.each([
    ['an ordered config', ordered(url)],
    ['a deployment', deployed(url)],
    ['a group of deployments', deployed(url, { type: 'OS::Heat::SoftwareDeploymentGroup' })],
  ])('is a mistake with the nearest name: %s', (_, config) => {
    expect(mistakesOf(config, '{get_attr: [c, urll]}')).toEqual([mistake]);
    expect(mistakesOf(config, '{get_attr: [c, url]}')).toEqual([]);
  });

  it('is a mistake of a config that declares none', () => {
    expect(mistakesOf(deployed(''), '{get_attr: [c, url]}')).toMatchObject([
      ['UnknownAttribute', mistake[1], undefined],
    ]);
    expect(mistakesOf(deployed(''), '{get_attr: [c, deploy_stdout]}')).toEqual([]);
  });

  it.each([
    ['the config keeps all outputs', ordered('')],
    ['a function makes the list', ordered(', outputs: {get_param: names}')],
    ['a function makes a name', ordered(', outputs: [{name: {get_param: p}}]')],
    ['the config is of another stack', deployed(url, { config: '{get_param: p}' })],
  ])('is not known to be one when %s', (_, config) => {
    expect(mistakesOf(config, '{get_attr: [c, urll]}')).toEqual([]);
  });
});
