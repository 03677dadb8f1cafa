/** The filter of a list. Its text is in the address. The key `/` jumps to it. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/** The text of the filter in the address. */
export const useFilter = (): string => useSearch({ strict: false }).find ?? '';

export function Filter({ what }: { what: string }) {
  const find = useFilter();
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const jump = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener('keydown', jump);
    return () => removeEventListener('keydown', jump);
  }, []);
  return (
    <input
      ref={input}
      className="field grow"
      type="search"
      placeholder={`Filter ${what}  ( / )`}
      aria-label={`Filter ${what}`}
      value={find}
      onKeyDown={(event) => {
        // The browser empties the field at the first press. The second one leaves it.
        if (event.key === 'Escape' && find === '') event.currentTarget.blur();
      }}
      onChange={(event) =>
        void navigate({
          to: '.',
          search: (last: object) => ({ ...last, find: event.target.value || undefined }),
          replace: true,
        })
      }
    />
  );
}

/** Whether a key belongs to a text that the reader is writing. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
