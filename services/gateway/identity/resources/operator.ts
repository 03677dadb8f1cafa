/**
 * The right of a stack to change identity objects, as Keystone's policy has it: the stack acts for an operator.
 *
 * O1 The gateway names the operator in a request that changes a stack, when the token has the role admin. A token with
 *    access rules, another program and a policy of a group give no such right.
 * O2 The engine passes the operator on only while each plan of the stack came from operators. So an operator who
 *    updates, retries or rolls back a stack with the template of another user lends no rights to that template.
 * O3 The provider reads the present roles of that user in the project of the stack. A user who is disabled, or has lost
 *    the role admin since, gives no rights.
 * O4 A request that no operator sends is refused before anything is changed, when the template itself has such a
 *    resource, as in Heat. The provider refuses those of nested stacks and of groups, one by one.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { Request } from '@anneal/provider/document.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { accessOfUser, isOperator } from '@anneal/directory/access.ts';

/**
 * O4.
 * @param resources the types of the resources that only operators may change, by name
 * @throws AnnealError Forbidden that names all of them
 */
export function requireOperatorFor(
  resources: Readonly<Record<string, string>>,
  { operator }: Pick<Occasion, 'operator'>,
): void {
  const names = Object.keys(resources).join(', ');
  if (operator !== undefined || names === '') return;
  const types = [...new Set(Object.values(resources))].join(', ');
  throw new AnnealError(
    'Forbidden',
    `You are not authorized to use ${types}. Only users with the role admin create or update a stack with ${names}.`,
  );
}

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
