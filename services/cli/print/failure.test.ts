import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Stack } from '@anneal/client/representation.ts';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { describeFailedStack } from './failed-stack.ts';
import { describeError, describeFailure, describeMistake } from './failure.ts';

const colors = pc.createColors(false);

describe('describeMistake', () => {
  it('begins with file:line:column, which editors can open', () => {
    const mistake = {
      code: 'UnknownProperty',
      message: 'no such property',
      path: 'resources.a.properties.hosted_onn',
      line: 7,
      column: 9,
      nearest: 'hosted_on',
    };
    expect(describeMistake(mistake, { colors, file: 'web.yaml' })).toBe(
      'web.yaml:7:9 resources.a.properties.hosted_onn: no such property (did you mean hosted_on?)',
    );
  });

  it('prefers the file of the mistake to the file of the template', () => {
    const mistake = { code: 'X', message: 'is wrong', path: 'a', file: 'part.yaml', line: 1, column: 2 };
    expect(describeMistake(mistake, { colors, file: 'web.yaml' })).toBe('part.yaml:1:2 a: is wrong');
    const environments = ['base.yaml', 'prod.yaml'];
    const sent = { ...mistake, file: 'environment 2' };
    expect(describeMistake(sent, { colors, environments })).toBe('prod.yaml:1:2 a: is wrong');
    expect(describeMistake({ ...sent, file: 'environment' }, { colors, environments })).toContain('base.yaml:1:2');
  });

  it('does not repeat the path and the nearest name when the message contains them', () => {
    const place = { code: 'X', line: 1, column: 1, file: 't.yaml' };
    const named = { ...place, path: 'a.b', message: 'Property error: a.b: no such property', nearest: 'ab' };
    expect(describeMistake(named, { colors })).toBe(
      't.yaml:1:1 Property error: a.b: no such property (did you mean ab?)',
    );
    const near = {
      ...place,
      path: 'p',
      message: 'Unknown Property hosted_onn',
      nearest: 'hosted_on',
      expected: 'x'.repeat(99),
    };
    expect(describeMistake(near, { colors })).toBe(
      't.yaml:1:1 p: Unknown Property hosted_onn (did you mean hosted_on?)',
    );
    const mistake = { ...place, path: 'p', message: 'no get_parm; the nearest is get_param.', nearest: 'get_param' };
    expect(describeMistake(mistake, { colors })).toBe('t.yaml:1:1 p: no get_parm; the nearest is get_param.');
  });

  it('names no file for the value of a parameter that was given beside the template', () => {
    const mistake = { code: 'X', message: 'is not defined', path: 'parameters.nope' };
    expect(describeMistake(mistake, { colors, file: 't.yaml' })).toBe('parameters.nope: is not defined');
  });

  it('adds the expected and the found value unless the message contains them', () => {
    const mistake = { code: 'X', message: 'must be a number', path: 'a', expected: 'number', found: 'text' };
    expect(describeMistake(mistake, { colors })).toBe('a: must be a number (found text)');
  });
});

describe('describeError', () => {
  it('lists every mistake, then the remedy', () => {
    const mistakes = [1, 2].map((line) => ({ code: 'X', message: 'is wrong', path: `p${line}`, line, column: 1 }));
    const error = new AnnealError('InvalidTemplate', 'The template has 2 mistakes.\np1: is wrong\np2: is wrong', {
      mistakes,
    });
    expect(describeError(error, { colors, file: 't.yaml' })).toEqual([
      'Error: The template has 2 mistakes. (InvalidTemplate)',
      '  t.yaml:1:1 p1: is wrong',
      '  t.yaml:2:1 p2: is wrong',
      'Remedy: Fix the listed errors and try again.',
    ]);
  });

  it('counts the mistakes when the message is only one of them, and does not repeat a single one', () => {
    const mistakes = [1, 2].map((line) => ({ code: 'X', message: 'is wrong', path: `p${line}`, line, column: 1 }));
    const many = new AnnealError('InvalidTemplate', 'p2: is wrong (and 1 more)', { mistakes });
    expect(describeError(many, { colors, file: 't.yaml' })[0]).toBe('Error: 2 mistakes in t.yaml (InvalidTemplate)');
    const [mistake] = [{ code: 'X', message: 'Invalid URL', path: 'url' }];
    const one = new AnnealError('InvalidRequest', 'The request body is not valid: url: Invalid URL', {
      mistakes: [mistake],
    });
    expect(describeError(one, { colors })).toEqual([
      'Error: The request body is not valid: url: Invalid URL (InvalidRequest)',
      'Remedy: Fix the listed fields and try again.',
    ]);
  });

  it('omits a remedy that refers to a list when there is no list', () => {
    const lines = describeError(new AnnealError('InvalidRequest', 'No such thing.'), { colors });
    expect(lines).toEqual(['Error: No such thing. (InvalidRequest)']);
  });

  it('prints an unknown error code', () => {
    expect(describeFailure({ code: 'Newer', message: 'New.' }, { colors })).toEqual(['Error: New. (Newer)']);
  });
});

describe('describeFailedStack', () => {
  it('begins with the root cause: host, config, exit status and standard error of the script', () => {
    const failure = {
      code: 'DeploymentFailed',
      message: 'It failed.',
      details: { host: 'h1', deployment: 'migrate', status_code: 3, stderr: 'no\nschema\n', stdout: 'looking' },
    };
    const stack = {
      stack_name: 'shop',
      stack_status: 'CREATE_FAILED',
      failures: [
        { resource: 'migrate', type: 'OS::Heat::OrderedConfig', failure },
        {
          resource: 'load',
          type: 'OS::Heat::OrderedConfig',
          failure: { code: 'DeploymentSkipped', message: 'Not run.' },
        },
      ],
    } as unknown as Stack;
    expect(describeFailedStack(stack, colors)).toEqual([
      '✘ The create of shop failed at migrate (OS::Heat::OrderedConfig).',
      'Error: It failed. (DeploymentFailed)',
      '  host        h1',
      '  config      migrate',
      '  exit status 3',
      '  standard error:',
      '  | no',
      '  | schema',
      'Remedy: Fix the script or the host; the output of the script is included.',
      'Also load: Not run.',
    ]);
  });

  it('names the action that failed before a rollback, and where the rollback leads', () => {
    const failure = { code: 'ResourceFailed', message: 'No disk.' };
    const stack = {
      stack_name: 'shop',
      stack_status: 'ROLLBACK_COMPLETE',
      failures: [{ resource: 'disk', type: 'T', failure }],
    } as unknown as Stack;
    const [first, ...rest] = describeFailedStack(stack, colors, 'UPDATE');
    expect(first).toBe('✘ The update of shop failed at disk (T).');
    expect(rest.at(-1)).toBe('The stack was rolled back to its last complete state.');
    expect(describeFailedStack(stack, colors, 'CREATE').at(-1)).toContain('anneal stack delete shop');
    expect(describeFailedStack(stack, colors)[0]).toBe('✘ The last action of shop failed at disk (T).');
    expect(describeFailedStack({ ...stack, failures: [] }, colors, 'UPDATE')[0]).toBe(
      '✘ The update of shop was cancelled.',
    );
    expect(describeFailedStack({ ...stack, stack_status: 'DELETE_COMPLETE' }, colors, 'UPDATE')).toEqual([
      '✘ The update of shop did not complete, because the stack was deleted.',
    ]);
  });
});
