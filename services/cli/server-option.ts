/** Takes `--server <name>`, which each command accepts, out of a command line. */
export function takeServer(words: readonly string[]): { words: readonly string[]; server: string | undefined } {
  const at = words.findIndex((word) => word === '--server' || word.startsWith('--server='));
  const [option = '', next] = words.slice(at);
  if (at === -1) return { words, server: undefined };
  const isJoined = option.includes('=');
  const server = isJoined ? option.slice('--server='.length) : (next ?? '');
  return { words: words.toSpliced(at, isJoined ? 1 : 2), server };
}
