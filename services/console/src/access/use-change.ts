/** Changes of projects, users and tokens, which no event reports: after one, the page asks again. */
import { useQueryClient } from '@tanstack/react-query';
import { useNotify } from '../parts/notices.tsx';

export function useChange(): (action: () => Promise<unknown>, done: string) => Promise<boolean> {
  const { attempt } = useNotify();
  const queries = useQueryClient();
  return async (action, done) => {
    const isDone = await attempt(action, done);
    if (isDone) await queries.invalidateQueries({ queryKey: ['identity'] });
    return isDone;
  };
}
