/** The principals: one domain, one project, one user. */
export const domain = { id: 'default', name: 'Default' } as const;
export const adminUser = { id: '00000000000000000000000000000002', name: 'admin' } as const;
/** Shown because clients expect a role. The rights of a host are checked at its queues and not by a role. */
export const hostRoles = [{ id: '00000000000000000000000000000014', name: 'heat_stack_user' }] as const;
export const roles = [
  { id: '00000000000000000000000000000011', name: 'admin' },
  { id: '00000000000000000000000000000012', name: 'member' },
  { id: '00000000000000000000000000000013', name: 'reader' },
] as const;
