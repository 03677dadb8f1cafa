import { describe, expect, it } from 'vitest';
import { lastLines, rootCause } from './root-cause.ts';

const script = (details: Record<string, string | number>) => ({
  code: 'DeploymentFailed',
  message: 'Deployment to server failed: deploy_status_code : Deployment exited with non-zero status code: 3',
  details: { host: 'web1', status_code: 3, ...details },
});

describe('the root cause of a failure', () => {
  it('is the last line that a failed script wrote to standard error', () => {
    expect(rootCause('config', script({ stderr: 'begins\nno space left.\n\n', stdout: 'done' }))).toBe(
      'config has failed on web1 with exit status 3: no space left',
    );
  });

  it('is the last line of standard output when standard error is empty', () => {
    expect(rootCause('config', script({ stderr: ' \n', stdout: 'E: no such package' }))).toBe(
      'config has failed on web1 with exit status 3: E: no such package',
    );
  });

  it('is the first line of the message when the script wrote nothing, or no script failed', () => {
    expect(rootCause('config', script({ stderr: '', stdout: '' }))).toMatch(/^config has failed: Deployment to server/);
    expect(rootCause('config', script({ stderr: 'a warning', status_code: 0 }))).toMatch(/: Deployment to server/);
    expect(rootCause('value', { code: 'ValueError', message: 'no.\nmore' })).toBe('value has failed: no');
  });

  it('names a fault of the text of the script, which no shell names', () => {
    const script_fault = 'line 1 ends with CRLF, so the interpreter reads it. Save the script as UTF-8.';
    expect(rootCause('config', script({ stderr: 'set: Illegal option -', script_fault }))).toBe(
      'config has failed on web1 with exit status 3: set: Illegal option -, likely because of its script: line 1 ends with CRLF, so the interpreter reads it',
    );
  });

  it('keeps the last three lines, without control characters and not longer than a line of a list', () => {
    const lines = lastLines(script({ stderr: `one\ntwo\r\n\u001b[31mthree\u001b[0m\n${'x'.repeat(500)}\n` }));
    expect(lines).toEqual(['two', '[31mthree [0m', `${'x'.repeat(200)}…`]);
  });
});
