/** The parts of Mistral's API that this server does not have, with the alternative of each. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { route, type Route } from '../http/route.ts';

const book = 'create its workflows: `openstack workflow create` accepts the text of a workbook';
const trigger = 'a stack starts workflows on events: the resource type Anneal::Workflow::EventTrigger';
const share = 'each project has its own workflows';
const code = 'workflows run no code of clients; define an ad hoc action, or use std.script on a host';
const refused: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  '/v2/workbooks': ['Workbooks are not stored as a whole', book],
  '/v2/workbooks/{name}': ['Workbooks are not stored as a whole', book],
  '/v2/event_triggers': ['Event triggers are not served here', trigger],
  '/v2/event_triggers/{id}': ['Event triggers are not served here', trigger],
  '/v2/code_sources': ['Code sources are not served', code],
  '/v2/code_sources/{id}': ['Code sources are not served', code],
  '/v2/dynamic_actions': ['Dynamic actions are not served', code],
  '/v2/dynamic_actions/{id}': ['Dynamic actions are not served', code],
  '/v2/workflows/{id}/members': ['Workflows are not shared', share],
  '/v2/workflows/{id}/members/{member}': ['Workflows are not shared', share],
  '/v2/services': ['Services are not listed here', 'the process of each has its state at /health/ready'],
};

/** A route whose only answer is an error with the alternative. */
export const refusal = (
  method: Route['method'],
  path: string,
  [what, instead]: readonly [what: string, instead?: string],
): Route =>
  route({
    method,
    path,
    summary: `Refused: ${what.charAt(0).toLowerCase()}${what.slice(1)}.`,
    isRefusal: true,
    handle: () => {
      throw new AnnealError('NotSupported', instead === undefined ? `${what}.` : `${what}: ${instead}.`);
    },
  });

/** A refusal for each part that is not served. */
export const refusedMistralRoutes = Object.entries(refused).map(([path, texts]) =>
  refusal(['GET', 'POST', 'PUT', 'DELETE'], path, texts),
);
