/** The object that a list shows in detail. It is in the address, so that a link shows the same. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export function useChosen(): readonly [string | undefined, (id: string | undefined) => void] {
  const { sel } = useSearch({ strict: false });
  const navigate = useNavigate();
  const choose = useCallback(
    (id: string | undefined) =>
      void navigate({ to: '.', search: (last: object) => ({ ...last, sel: id }), resetScroll: false }),
    [navigate],
  );
  return [sel, choose];
}
