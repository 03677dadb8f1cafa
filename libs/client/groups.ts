/** Groups that scale. */
import {
  groupAct,
  groupList,
  groupViewSchema,
  type GroupAct,
  type GroupRow,
  type GroupView,
} from '@anneal/contracts/calls/scaling.ts';
import type { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { locate } from './nested.ts';
import { read } from './read.ts';
import type { Stacks } from './stacks.ts';

/** The answer to an action on a group: its outcome, or the new deadline of a wait. */
export type GroupAnswer = z.infer<typeof groupAct.answer>;

/** The calls for groups. The group by its name, or by its path into nested stacks: `tier/workers`. */
export interface GroupCalls {
  /** All groups that scale. Only operators may ask for those of every project. */
  list(parameters?: { allProjects?: boolean; signal?: AbortSignal }): Promise<GroupRow[]>;
  show(parameters: { stack: string; group: string }): Promise<GroupView>;
  act(parameters: { stack: string; group: string; action: GroupAct }): Promise<GroupAnswer>;
}

const service = 'api';
const pageSize = 1000;

/** The calls for groups. Each throws the gateway's AnnealError. */
export function groupsOf(connection: GatewayConnection, stacks: Stacks): GroupCalls {
  const pathOf = async (stack: string, group: string): Promise<string> => {
    const { id, resource } = await locate(stacks, { stack, path: group });
    return `/stacks/${id}/groups/${encodeURIComponent(resource)}`;
  };
  return {
    async list({ allProjects = false, signal } = {}) {
      const what = 'list the groups';
      const rows: GroupRow[] = [];
      for (;;) {
        const last = rows.at(-1);
        const query = { limit: pageSize, marker: last?.stack_id, all_projects: allProjects || undefined };
        const body = await connection.json({ service, path: '/groups', query, what, signal });
        const page = read(groupList.answer, body, what).groups;
        rows.push(...page);
        if (page.length < pageSize) return rows;
      }
    },
    async show({ stack, group }) {
      const what = `show the group ${group} of ${stack}`;
      return read(groupViewSchema, await connection.json({ service, path: await pathOf(stack, group), what }), what);
    },
    async act({ stack, group, action }) {
      const what = `${action.kind} of the group ${group} of ${stack}`;
      const path = `${await pathOf(stack, group)}/actions`;
      return read(groupAct.answer, await connection.json({ service, path, method: 'POST', body: action, what }), what);
    },
  };
}
