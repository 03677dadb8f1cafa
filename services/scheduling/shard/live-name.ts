/** The key of a stack name, which is unique among the live stacks of a project. */
export const liveName = (project: string, name: string): string => `${project}/${name}`;
