import { describe, expect, it } from 'vitest';
import { drawMermaid, drawSvg } from './draw.ts';
import { examine } from './inspect.ts';
import { types } from '../testing/types-and-compile.ts';

const template = `
heat_template_version: rocky
parameters: {missing: {type: string}}
resources:
  a: {type: OS::Heat::RandomString}
  b: {type: OS::Heat::Value, properties: {value: {get_attr: [a, value]}}}
  c: {type: OS::Heat::Value, properties: {value: {get_param: missing}}}
  d: {type: OS::Heat::Value, properties: {value: 1}, depends_on: [b, c]}
`;
const examined = () => {
  const result = examine({ template, stackName: 's', stackId: '', projectId: 'p', types });
  if ('mistakes' in result) throw new Error(result.mistakes[0]?.message);
  return result.outline;
};

describe('the outline of a plan', () => {
  it('shows the parallel steps and the critical path, also without parameter values', () => {
    const { levels, critical_path: path } = examined();
    expect(levels.map((row) => row.map(({ name }) => name))).toEqual([['a', 'c'], ['b'], ['d']]);
    expect(path).toEqual(['a', 'b', 'd']);
  });

  it('is drawn with every resource and every edge', () => {
    const outline = examined();
    expect(drawMermaid(outline).match(/-->/g)).toHaveLength(3);
    const svg = drawSvg(outline);
    expect(svg.match(/<text /g)).toHaveLength(8);
    expect(svg.match(/marker-end/g)).toHaveLength(3);
  });
});
