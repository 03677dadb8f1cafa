/** Reads a refusal in the form of any of the APIs: Heat's, Zaqar's, Ironic's, Keystone's or our own. */
import { AnnealError, errorTable, fromFailure, isErrorCode, type ErrorCode } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';
import { z } from 'zod';
import type { WholeAnswer } from './reach.ts';

const text = z.string().min(1);
const own = z.object({
  error: z.object({
    code: z.string(),
    message: text,
    mistakes: z.array(mistakeSchema).optional(),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
});
const heat = z.object({
  error: z.object({
    message: text,
    type: z.string().optional(),
    code: z.unknown().optional(),
    mistakes: z.array(mistakeSchema).optional().catch(undefined),
    details: z.record(z.string(), z.unknown()).optional().catch(undefined),
  }),
});
const fault = z.object({
  faultstring: text,
  code: z.string().optional(),
  mistakes: z.array(mistakeSchema).optional().catch(undefined),
  remedy: z.string().optional().catch(undefined),
});
const ironic = z.object({ error_message: z.union([text, fault]) });
const zaqar = z.object({ description: text });

const codesByStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'InvalidRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  429: 'LimitReached',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'TimedOut',
};

/** Total: a body of any other form still becomes an error that names the attempted action. */
export async function failureOf(response: Pick<WholeAnswer, 'status' | 'text'>, what: string): Promise<AnnealError> {
  const body = await response.text().catch(() => '');
  return readFailure({ status: response.status, body: jsonIn(body) ?? body, what });
}

/** The error that the answer reports. `what` completes "Could not …" when the answer has no text. */
export function readFailure(input: { status: number; body: unknown; what: string }): AnnealError {
  const { status, body, what } = input;
  const byStatus = codesByStatus[status] ?? 'Defect';
  const asOwn = own.safeParse(body);
  if (asOwn.success && isErrorCode(asOwn.data.error.code)) {
    const { code, message, mistakes, details } = asOwn.data.error;
    return fromFailure({ code, message, ...(mistakes && { mistakes }), ...(details && { details }) });
  }
  const asHeat = heat.safeParse(body);
  if (asHeat.success) {
    const { message, code, mistakes, details } = asHeat.data.error;
    return new AnnealError(typeof code === 'string' && isErrorCode(code) ? code : byStatus, message, {
      ...(mistakes && { mistakes }),
      ...(details && { details }),
    });
  }
  const asIronic = ironic.safeParse(body);
  if (asIronic.success) {
    const { faultstring, code, mistakes, remedy } = faultOf(asIronic.data.error_message);
    const known = code !== undefined && isErrorCode(code) ? code : byStatus;
    // That of the table is no news, and a program may know a better one.
    const isOwn = remedy !== undefined && remedy !== errorTable[known].remedy;
    return new AnnealError(known, faultstring, {
      ...(mistakes && { mistakes }),
      ...(isOwn && { details: { remedy } }),
    });
  }
  const asZaqar = zaqar.safeParse(body);
  const message = asZaqar.success ? asZaqar.data.description : `Could not ${what}: the gateway answered ${status}.`;
  return new AnnealError(byStatus, message);
}

/** Ironic puts JSON into a string; newer versions send an object; a proxy in between may send a sentence. */
function faultOf(message: string | z.infer<typeof fault>): z.infer<typeof fault> {
  if (typeof message !== 'string') return message;
  return fault.safeParse(jsonIn(message)).data ?? { faultstring: message };
}
