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
    expect(renderLine('{')).toMatchObject({ id: null, errors: [{ code: 'InvalidCase' }] });
  });
});
