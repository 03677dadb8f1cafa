/** The project of the operators. It sees objects that belong to no other project, above all nodes. */
export const adminProject = { id: '00000000000000000000000000000001', name: 'admin' } as const;
