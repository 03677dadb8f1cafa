/** Who there is: one domain, one project, one user. */
export const domain = { id: 'default', name: 'Default' } as const;
export const adminUser = { id: '00000000000000000000000000000002', name: 'admin' } as const;
/** What a host may do is decided at its queues, not by a role; clients want to see one. */
export const hostRoles = [{ id: '00000000000000000000000000000014', name: 'heat_stack_user' }] as const;
export const roles = [
  { id: '00000000000000000000000000000011', name: 'admin' },
  { id: '00000000000000000000000000000012', name: 'member' },
  { id: '00000000000000000000000000000013', name: 'reader' },
] as const;
