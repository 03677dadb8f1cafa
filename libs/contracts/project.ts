/** The project of the operators. What belongs to no project of its own, nodes above all, is theirs to see. */
export const adminProject = { id: '00000000000000000000000000000001', name: 'admin' } as const;
