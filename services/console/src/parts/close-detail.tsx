/** Closes the detail of a list, also with Escape, and returns the focus to where it was opened. */
import { useCallback, useEffect, useRef } from 'react';
import { useChosen } from './chosen.ts';
import { isTyping } from './filter.tsx';

export function CloseDetail() {
  const [, choose] = useChosen();
  const opener = useRef<Element | null>(null);
  const close = useCallback(() => {
    choose(undefined);
    if (opener.current instanceof HTMLElement && opener.current.isConnected) opener.current.focus();
  }, [choose]);
  useEffect(() => {
    opener.current = document.activeElement;
    const press = (event: KeyboardEvent): void => {
      // An open dialog closes first; Escape in a field belongs to the field.
      if (event.key !== 'Escape' || event.defaultPrevented || isTyping(event.target)) return;
      if (document.querySelector('[role=dialog]') === null) close();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [close]);
  return (
    <button type="button" className="button" aria-label="Close the detail" title="Close (Esc)" onClick={close}>
      ×
    </button>
  );
}
