/**
 * Errors of Anneal's own API as problem details (RFC 9457). The member `error` is an extension with the code, the remedy,
 * the mistakes and the details.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { z } from 'zod';

export const problemDetailsType = 'application/problem+json';

/** The body of an error. */
export interface ProblemDetails {
  /** Identifies the code. On a server that serves the documentation, it is the address of the table of codes. */
  readonly type: string;
  /** The code in words. */
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly error: Omit<Failure, 'remedy'> & { readonly remedy?: string | undefined };
}

/** @param status the HTTP status of the answer */
export const problemDetails = (status: number, error: ProblemDetails['error']): ProblemDetails => ({
  type: `/docs/reference/errors#${error.code}`,
  title: error.code.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
  status,
  detail: error.message,
  error,
});

/** The body of an error in the OpenAPI document. */
export const problemDetailsSchema = z
  .object({
    type: z.string().meta({ format: 'uri-reference', description: 'Identifies the code.' }),
    title: z.string().meta({ description: 'The code in words.' }),
    status: z.int(),
    detail: z.string().meta({ description: 'The same as `error.message`.' }),
    error: z.object({
      code: z.string(),
      message: z.string(),
      remedy: z.string().optional(),
      mistakes: z.array(mistakeSchema).optional(),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
  })
  .meta({ id: 'Error' });
