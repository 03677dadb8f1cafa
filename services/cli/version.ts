/** The version of the `anneal` command. */
export const version = '0.1.0';
