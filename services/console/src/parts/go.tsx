/** A button that leads to another page of the console, by its whole address. */
import { useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';

export function Go({ href, children }: { href: string; children: ReactNode }) {
  const { history } = useRouter();
  return (
    <a
      className="button"
      href={href}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        history.push(href);
      }}
    >
      {children}
    </a>
  );
}
