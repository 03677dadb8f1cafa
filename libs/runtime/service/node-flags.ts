/**
 * The flags of Node for a process with services. Node otherwise lets the area for new objects grow to 128 MiB, which an
 * idle process keeps; 48 MiB cost no processor time in the benches. NODE_OPTIONS may set another size.
 */
export const serverFlags = ({ NODE_OPTIONS: given = '' }: NodeJS.ProcessEnv): string[] => [
  '--disable-warning=ExperimentalWarning',
  ...(given.includes('semi-space-size') ? [] : [newObjects]),
];
/** Three areas of this size, in MiB. */
const newObjects = '--max-semi-space-size=16';
