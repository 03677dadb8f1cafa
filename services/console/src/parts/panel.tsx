/** The form that a page shows above its list. It is in the address, so that a link and the palette open it. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface Panel {
  readonly open: string | undefined;
  readonly show: (name: string | undefined) => void;
}

export function usePanel(): Panel {
  const { tab: open } = useSearch({ strict: false });
  const navigate = useNavigate();
  return {
    open,
    show: (name) =>
      void navigate({
        to: '.',
        search: (last: object) => ({ ...last, tab: name }),
        replace: true,
        resetScroll: false,
      }),
  };
}

/** The button that shows the form and hides it. */
export function PanelToggle({ name, isFirst, children }: { name: string; isFirst?: boolean; children: ReactNode }) {
  const { open, show } = usePanel();
  return (
    <button
      type="button"
      className={isFirst ? 'button first' : 'button'}
      aria-expanded={open === name}
      onClick={() => show(open === name ? undefined : name)}
    >
      {children}
    </button>
  );
}
