import { errorTable } from '@anneal/contracts/errors.ts';
import { describe, expect, it } from 'vitest';
import { readFailure } from './failure.ts';

const mistake = { code: 'UnknownProperty', message: 'no such property', path: 'resources.a', line: 3, column: 5 };
const what = 'create the stack web';

describe('readFailure', () => {
  it('keeps code and mistakes of Anneal’s form', () => {
    const body = { error: { code: 'InvalidTemplate', message: 'Two mistakes.', mistakes: [mistake] } };
    expect(readFailure({ status: 400, body, what })).toMatchObject({ code: 'InvalidTemplate', mistakes: [mistake] });
  });

  it('reads Heat’s form with the additions of Anneal', () => {
    const body = {
      code: 400,
      title: 'Bad Request',
      explanation: '…',
      error: {
        type: 'StackValidationFailed',
        message: 'Bad.',
        traceback: null,
        code: 'InvalidTemplate',
        mistakes: [mistake],
      },
    };
    const error = readFailure({ status: 400, body, what });
    expect(error).toMatchObject({ code: 'InvalidTemplate', message: 'Bad.', mistakes: [mistake] });
  });

  it('derives the code from the status when a foreign server sends none', () => {
    const body = {
      code: 404,
      title: 'Not Found',
      error: { type: 'EntityNotFound', message: 'The Stack (x) could not be found.' },
    };
    expect(readFailure({ status: 404, body, what })).toMatchObject({
      code: 'NotFound',
      message: 'The Stack (x) could not be found.',
    });
  });

  it('reads Ironic’s fault, which is JSON in a string', () => {
    const body = {
      error_message: JSON.stringify({ faultstring: 'Node is locked', code: 'Conflict', faultcode: 'Client' }),
    };
    expect(readFailure({ status: 409, body, what })).toMatchObject({ code: 'Conflict', message: 'Node is locked' });
  });

  it('takes the remedy of Ironic’s fault only when it is not that of the table', () => {
    const remedyIn = (remedy: string) => {
      const error_message = JSON.stringify({ faultstring: 'No broker.', code: 'Unavailable', remedy });
      return readFailure({ status: 503, body: { error_message }, what }).details;
    };
    expect(remedyIn('Start the broker.')).toEqual({ remedy: 'Start the broker.' });
    expect(remedyIn(errorTable.Unavailable.remedy)).toBeUndefined();
  });

  it('reads Zaqar’s description', () => {
    const body = { title: 'Invalid API request', description: 'Limit must be at least 1.' };
    expect(readFailure({ status: 400, body, what }).message).toBe('Limit must be at least 1.');
  });

  it('reads Keystone’s form, where the code is a number', () => {
    const body = { error: { code: 401, title: 'Unauthorized', message: 'The password is wrong.' } };
    expect(readFailure({ status: 401, body, what })).toMatchObject({
      code: 'Unauthorized',
      message: 'The password is wrong.',
    });
  });

  it('reports what was attempted when the body has no message', () => {
    for (const body of ['', '<html>', null, { error: 7 }]) {
      expect(readFailure({ status: 502, body, what }).message).toBe(
        'Could not create the stack web: the gateway answered 502.',
      );
    }
  });
});
