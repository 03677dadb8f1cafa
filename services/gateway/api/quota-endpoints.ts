/** The quotas of a project: those of each service, in one list. */
import {
  quotaChangesSchema,
  quotaNames,
  quotaServices,
  quotaSet,
  quotaShow,
  type QuotaName,
  type QuotaView,
} from '@anneal/contracts/calls/quotas.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';
import type { OtherProjects } from '../identity/other-projects.ts';

const services = [...new Set(Object.values(quotaServices))];
const inOrder = (answers: readonly { quotas: QuotaView[] }[]): { quotas: QuotaView[] } => {
  const all = answers.flatMap(({ quotas }) => quotas);
  return { quotas: quotaNames.flatMap((name) => all.filter((each) => each.name === name)) };
};

export function quotaEndpoints({ ask, otherProjects }: { ask: Ask; otherProjects: OtherProjects }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/projects/{project}/quota',
      summary:
        'Show the limits of a project, by id or name, and what it uses. Other projects than the own one are for operators.',
      answer: quotaShow.answer,
      handle: async ({ request, params }) => {
        const project = await otherProjects.of(callerOf(request), params.project, 'read the quota of');
        return inOrder(await Promise.all(services.map((service) => ask(service, quotaShow, { data: { project } }))));
      },
    }),
    route({
      method: 'POST',
      path: '/projects/{project}/quota',
      summary:
        'Set limits of a project; null sets the default. A limit below what the project uses removes nothing and refuses only more. For operators.',
      body: z.strictObject({ limits: quotaChangesSchema }),
      answer: quotaSet.answer,
      handle: async ({ request, params, body: { limits } }) => {
        const project = await otherProjects.of(callerOf(request), params.project, 'set the quota of');
        const asked = (service: string): boolean =>
          Object.keys(limits).some((name) => quotaServices[name as QuotaName] === service);
        const answers = services.map((service) =>
          asked(service)
            ? ask(service, quotaSet, { data: { project, limits } })
            : ask(service, quotaShow, { data: { project } }),
        );
        return inOrder(await Promise.all(answers));
      },
    }),
  ];
}
