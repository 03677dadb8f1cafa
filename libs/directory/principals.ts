/** The principals that exist from the first start. Their ids never change, so that documents and clients can name them. */

/** The domain of a name without a domain. It cannot be disabled or deleted. */
export const defaultDomain = { id: 'default', name: 'Default' } as const;

/** The first user: it has the role admin in the first project and in the system. */
export const adminUser = { id: '00000000000000000000000000000002', name: 'admin' } as const;

const roleId = (number: number): string => `000000000000000000000000000000${number}`;

/**
 * The roles that every installation has, with those that each implies, as Keystone creates them. They cannot be changed
 * or deleted. `reader` reads the objects of a project, `member` changes them, `manager` manages the users and projects of
 * a domain, `admin` may do everything. `service` lets a service check the tokens of its clients. `heat_stack_user` is
 * the role of hosts and of resources that are signalled.
 */
export const fixedRoles = [
  { id: roleId(11), name: 'admin', implies: [roleId(15)] },
  { id: roleId(12), name: 'member', implies: [roleId(13)] },
  { id: roleId(13), name: 'reader', implies: [] },
  { id: roleId(14), name: 'heat_stack_user', implies: [] },
  { id: roleId(15), name: 'manager', implies: [roleId(12)] },
  { id: roleId(16), name: 'service', implies: [] },
] as const;

export type FixedRole = (typeof fixedRoles)[number]['name'];

/** The id of a fixed role. */
export const idOfRole = (name: FixedRole): string => fixedRoles.find((role) => role.name === name)?.id ?? '';

/** Whether this is the id of a fixed role. */
export const isFixedRole = (id: string): boolean => fixedRoles.some((role) => role.id === id);

/** The roles in the token of a host or a signaller. Their rights are checked at their queues and not by a role. */
export const hostRoles = [{ id: idOfRole('heat_stack_user'), name: 'heat_stack_user' }] as const;
