/** Light or dark: as the reader chose, otherwise as the system. */
type Theme = 'light' | 'dark';

const key = 'anneal-theme';
const chosen = (): Theme | undefined => {
  const stored = localStorage.getItem(key);
  return stored === 'light' || stored === 'dark' ? stored : undefined;
};
const system = matchMedia('(prefers-color-scheme: dark)');
const current = (): Theme => chosen() ?? (system.matches ? 'dark' : 'light');

/** Sets the theme of the page now, and again when the system changes. */
export function applyTheme(): void {
  const set = (): void => {
    document.documentElement.dataset['theme'] = current();
  };
  set();
  system.addEventListener('change', set);
}

/** Changes to the other theme and remembers it in this browser. */
export function toggleTheme(): void {
  localStorage.setItem(key, current() === 'dark' ? 'light' : 'dark');
  document.documentElement.dataset['theme'] = current();
}
