/**
 * The project that a request is about, where it may name another one: its own, or the one that an operator names.
 *
 * P1 Other users stay in their project, and learn nothing about others: they are refused before a project is looked up.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { withoutProject, type Caller, type UserCaller } from './caller.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import { isOperator } from '@anneal/directory/access.ts';

export const eventsProjectField = z.string().min(1).max(255).optional().meta({
  description: 'Events of this project, by id or name, in place of the own one. Only for operators.',
});

export interface OtherProjects {
  /** The id of the project. @throws AnnealError Forbidden, NotFound */
  of(caller: Caller, named: string | undefined, doing?: string): Promise<string>;
}

export function createOtherProjects({ projects }: Pick<DirectoryReader, 'projects'>): OtherProjects {
  return {
    async of(caller, named, doing = 'read events of') {
      const { project } = caller;
      if (named === undefined || named === project) {
        if (project === null) throw withoutProject();
        return project;
      }
      const own = caller.kind === 'user' ? caller.access.project : undefined;
      if (own?.name === named) return own.id;
      if (caller.kind !== 'user' || !readsAll(caller)) {
        const message = `Cannot ${doing} the project ${named}: ${caller.name} needs the role admin, or the role reader in the system, to read those of another project.`;
        throw new AnnealError('Forbidden', message);
      }
      const domain_id = own?.domain_id ?? defaultDomain.id;
      const found = (await projects.find(named)) ?? (await projects.list({ domain_id, name: named })).at(0);
      if (!found) {
        throw new AnnealError(
          'NotFound',
          `There is no project with the id or name ${named}. List them: \`anneal project list\`.`,
        );
      }
      return found.id;
    },
  };
}

/** An operator by a role in a project or the system; an admin of a domain is none here. */
const readsAll = ({ access }: UserCaller): boolean =>
  (access.project !== undefined || access.system) && isOperator(access, 'reader');
