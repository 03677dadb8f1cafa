/**
 * The right of a stack to change identity objects, as Keystone's policy has it: the stack acts for an operator.
 *
 * O1 The gateway names the operator in a request that changes a stack, when the token has the role admin. A token with
 *    access rules, another program and a policy of a group give no such right.
 * O2 The engine passes the operator on only while each plan of the stack came from operators. So an operator who
 *    updates, retries or rolls back a stack with the template of another user lends no rights to that template.
 * O3 The provider reads the present roles of that user in the project of the stack. A user who is disabled, or has lost
 *    the role admin since, gives no rights.
 * O4 The gateway refuses a request that no operator sends before anything is changed, when the template itself has such a
 *    resource, as in Heat (`services/gateway/identity/operator-resources.ts`). The provider refuses those of nested stacks
 *    and of groups, one by one.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Request } from '@anneal/provider/document.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { accessOfUser, isOperator } from '@anneal/directory/access.ts';

/** @throws AnnealError Forbidden when the stack of the request does not act for an operator (O3) */
export async function requireOperator(directory: DirectoryReader, doing: string, request: Request): Promise<void> {
  const { data, project } = request;
  const { resource, stack, operator, origin } = data;
  const user = operator === undefined ? undefined : await directory.users.find(operator);
  const access = user && project !== undefined && (await accessOfUser(directory, user, { project_id: project }));
  if (access && isOperator(access, 'member')) return;
  const { kind, name } = origin?.actor ?? { kind: 'user', name: 'unknown' };
  const reason = user
    ? `the user ${user.name} no longer has the role admin in the project of the stack`
    : `the stack does not act for an operator (now it acts for the ${kind} ${name})`;
  throw new AnnealError(
    'Forbidden',
    `Cannot ${doing} ${resource.name} (${resource.type}) of stack ${stack.name}: ${reason}. Only a stack that users with the role admin have created, and that no other user has updated, changes users, groups, roles and projects. Let an operator create the stack; an operator can also delete this one.`,
  );
}
