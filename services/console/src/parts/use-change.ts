/** Changes that no event reports: after one, the page asks again. */
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from './notices.tsx';

/** @param key the first word of the answers that a change makes out of date */
export function useChange(key: string): (action: () => Promise<unknown>, done: string) => Promise<boolean> {
  const { attempt } = useNotify();
  const queries = useQueryClient();
  return async (action, done) => {
    const isDone = await attempt(action, done);
    if (isDone) await queries.invalidateQueries({ queryKey: [key] });
    return isDone;
  };
}
