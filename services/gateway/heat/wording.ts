/**
 * Errors in Heat's format: `{code, title, explanation, error: {type, message, traceback}}`. Anneal's own code, mistakes
 * and remedy are added beside Heat's fields, for clients that know them.
 */
import { AnnealError, type Failure, type Mistake } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { z } from 'zod';
import type { FamilyWording } from '../http/family.ts';
import { refuseAll, type Refuse } from '../http/input.ts';
import type { Problem } from '../http/problem.ts';
import { authenticateHeader } from '../identity/keystone.ts';

const malformed = 'The server could not comply with the request since it is either malformed or otherwise incorrect.';
const broken = 'The server has either erred or is incapable of performing the requested operation.';

const byStatus: Readonly<Record<number, { title: string; explanation: string; type: string }>> = {
  400: { title: 'Bad Request', explanation: malformed, type: 'HTTPBadRequest' },
  403: { title: 'Forbidden', explanation: 'Access was denied to this resource.', type: 'Forbidden' },
  404: { title: 'Not Found', explanation: 'The resource could not be found.', type: 'EntityNotFound' },
  405: { title: 'Method Not Allowed', explanation: malformed, type: 'HTTPMethodNotAllowed' },
  409: {
    title: 'Conflict',
    explanation: 'There was a conflict when trying to complete your request.',
    type: 'ActionInProgress',
  },
  413: { title: 'Request Entity Too Large', explanation: malformed, type: 'RequestLimitExceeded' },
  429: { title: 'Too Many Requests', explanation: 'Too many requests at once.', type: 'RequestLimitExceeded' },
  503: {
    title: 'Service Unavailable',
    explanation: 'The server is currently unavailable. Please try again at a later time.',
    type: 'HTTPServiceUnavailable',
  },
};
const unexpected = { title: 'Internal Server Error', explanation: broken, type: 'HTTPInternalServerError' };

/** Heat's error types, where they do not follow from the status. */
const byCode: Readonly<Record<string, string>> = {
  InvalidTemplate: 'StackValidationFailed',
  NotSupported: 'NotSupported',
  AlreadyExists: 'StackExists',
  QuotaExceeded: 'RequestLimitExceeded',
};

/** The refusals of a template that Heat's clients distinguish. */
function byMistake(mistake: Mistake | undefined): string | undefined {
  switch (mistake?.code) {
    case 'MissingParameter':
      return 'UserParameterMissing';
    case 'UnknownParameter':
      // The client set the parameter; a template that only reads it is another mistake.
      return mistake.path.startsWith('parameters.') ? 'UnknownUserParameter' : undefined;
    case 'ImmutableParameter':
      return 'ImmutableParameterModified';
    default:
      return undefined;
  }
}

/** An error whose Heat type is known where it is thrown. */
export function heatError(code: AnnealError['code'], type: string, message: string): AnnealError {
  return new AnnealError(code, message, { details: { heat_type: type } });
}

/** Begins a text that continues the name of its field as a sentence. */
const restOfSentence = /^(?:is|must|names) /;

/**
 * Words a body in Heat's way: `timeout_mins must be …`. A mistake of the whole body, or of the name of a stack, has a
 * sentence of its own and comes alone.
 */
export const refuseInHeat: Refuse = (mistakes, place) => {
  if (place !== 'body') return refuseAll(mistakes, place);
  const sentence = mistakes.find(({ path }) => path === '' || path === 'stack_name')?.message;
  if (sentence?.startsWith('Invalid stack name')) {
    return heatError('InvalidRequest', 'StackValidationFailed', sentence);
  }
  if (sentence !== undefined) {
    const isKind = sentence.startsWith('Invalid input');
    return new AnnealError('InvalidRequest', isKind ? 'The request body must be a JSON object.' : sentence);
  }
  const unknown = mistakes.filter(({ message }) => message.startsWith('unknown field')).map(({ path }) => path);
  if (unknown.length > 0) {
    return new AnnealError('InvalidRequest', `Unexpected parameters in body: ${unknown.join(', ')}`, { mistakes });
  }
  if (!mistakes.every(({ message }) => restOfSentence.test(message))) return refuseAll(mistakes, place);
  const listed = mistakes.map(({ path, message }) => `${path} ${message}`);
  return new AnnealError('InvalidRequest', listed.length === 1 ? `${listed[0]}.` : listed.join('; '), { mistakes });
};

const typeOf = ({ code, mistakes, details }: Failure, fallback: string): string => {
  if (typeof details?.['heat_type'] === 'string') return details['heat_type'];
  return byMistake(mistakes?.[0]) ?? byCode[code] ?? fallback;
};

/** Heat words a parameter that a property reads and no parameter declares as a mistake of the property. */
function messageOf({ message, mistakes }: Failure): string {
  const [first] = mistakes ?? [];
  const property = /^resources\.[^.]+\.properties\.[^.]+/.exec(first?.path ?? '')?.[0];
  if (first?.code !== 'UnknownParameter' || property === undefined || !message.startsWith(first.message))
    return message;
  const [missing] = first.message.split(' (in ');
  return `Property error: : ${property}: : ${missing}${message.slice(first.message.length)}`;
}

/** The answer of Heat's HTTP layer when no controller handled the request. */
export const plainSchema = z.object({ message: z.string(), code: z.string(), title: z.string() });
export const plainBody = (status: number, title: string, message: string): z.output<typeof plainSchema> => ({
  message: `${message}<br /><br />\n\n\n`,
  code: `${status} ${title}`,
  title,
});

/** Every form of an error: that of a controller, and that of the layer before it. */
export const heatErrorSchema = z.union([
  z.object({
    code: z.int().optional(),
    title: z.string().optional(),
    explanation: z.string().optional(),
    error: z.object({
      type: z.string().optional(),
      traceback: z.null().optional(),
      message: z.string(),
      code: z.union([z.string(), z.int()]).optional().meta({ description: 'The code of Anneal.' }),
      title: z.string().optional(),
      remedy: z.string().optional(),
      mistakes: z.array(mistakeSchema).optional(),
      details: z.looseObject({}).optional(),
    }),
  }),
  plainSchema,
]);

function heatBody({ status, failure }: Problem): object {
  if (status === 401) {
    return { error: { code: 401, title: 'Unauthorized', message: failure.message } };
  }
  const { title, explanation, type } = byStatus[status] ?? unexpected;
  const { heat_type: _, ...details } = failure.details ?? {};
  return {
    code: status,
    title,
    explanation,
    error: {
      type: typeOf(failure, type),
      traceback: null,
      message: messageOf(failure),
      code: failure.code,
      remedy: failure.remedy,
      ...(failure.mistakes && { mistakes: failure.mistakes }),
      ...(Object.keys(details).length > 0 && { details }),
    },
  };
}

export const heatWording: FamilyWording = {
  body: heatBody,
  headers: (problem, request): Record<string, string> =>
    problem.status === 401 ? { 'www-authenticate': authenticateHeader(request) } : {},
  notFound: (_request, reply) => reply.code(404).send(plainBody(404, 'Not Found', 'The resource could not be found.')),
  notAllowed: () => ({
    code: 405,
    title: 'Method Not Allowed',
    explanation: malformed,
    error: { type: 'HTTPMethodNotAllowed', traceback: null, message: malformed },
  }),
};
