/** The text of a wrong field, in words for the client: zod speaks of types of JavaScript. */
import type { z } from 'zod';

/** The text of an issue without the path of its field. */
export function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
    return `is required: expected ${issue.expected}`;
  }
  return issue.message;
}
