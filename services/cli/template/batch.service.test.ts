import { describe, expect, it } from 'vitest';
import { renderLine } from './batch.ts';

const template =
  'heat_template_version: rocky\nparameters: {p: {type: json}}\noutputs: {o: {value: {get_param: [p, a]}}}\n';
const answer = (value: unknown) => renderLine(JSON.stringify(value));

describe('template render --batch', () => {
  it('answers each case with its id', () => {
    expect(answer({ id: 7, template, environment: null, parameters: { p: { a: 1 } } })).toMatchObject({
      id: 7,
      outputs: { o: 1 },
    });
  });

  it('merges a list of environments in order', () => {
    const environment = ['parameters: {p: {a: 1}}', 'parameters: {p: {a: 2}}'];
    expect(answer({ id: 'x', template, environment })).toMatchObject({ id: 'x', outputs: { o: 2 } });
  });

  it('answers an invalid case with its errors', () => {
    expect(answer({ id: 'y', template })).toMatchObject({ id: 'y', errors: [{ code: 'MissingParameter', line: 2 }] });
    expect(answer({ id: 'z', template, files: 3 })).toMatchObject({ id: 'z', errors: [{ code: 'InvalidCase' }] });
    const constraint = '{custom_constraint: expiration}';
    const past = `heat_template_version: rocky\nparameters: {p: {type: string, default: '2001-01-01', constraints: [${constraint}]}}\n`;
    expect(answer({ id: 9, template: past })).toMatchObject({ id: 9, errors: [{ code: 'InvalidParameter' }] });
    expect(renderLine('{')).toMatchObject({ id: null, errors: [{ code: 'InvalidCase' }] });
  });
});
