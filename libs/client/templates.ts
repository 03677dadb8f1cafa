/** Templates while they are written. */
import { templateCheckAnswerSchema, type TemplateCheck } from '@anneal/contracts/calls/templating.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';
import { bundleBody, type TemplateBundle } from './stacks.ts';

/** Calls that change nothing. */
export interface TemplateCalls {
  /** Mistakes are part of the answer, so a check rejects only when the server cannot check. */
  check(parameters: {
    bundle: TemplateBundle & { readonly template: string };
    parameters?: Readonly<Record<string, Json>> | undefined;
    /** Id of an existing stack, whose files, environment and parameters are used where none are given. */
    stack?: string | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<TemplateCheck>;
}

/** The calls for templates. Each throws the gateway's AnnealError. */
export function templatesOf(connection: GatewayConnection): TemplateCalls {
  return {
    async check({ bundle, parameters, stack, signal }) {
      const what = 'check the template';
      const body = { ...bundleBody(bundle), ...(parameters && { parameters }), ...(stack !== undefined && { stack }) };
      const path = '/templates/check';
      return read(
        templateCheckAnswerSchema,
        await connection.json({ service: 'api', path, method: 'POST', onlyAsks: true, body, what, signal }),
        what,
      );
    },
  };
}
