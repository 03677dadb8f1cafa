/** A name is taken once in a project, among the stacks that live. */
export const liveName = (project: string, name: string): string => `${project}/${name}`;
