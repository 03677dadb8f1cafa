/** The build of the console that the server serves now. The names of its files contain the hashes of their contents. */

/** The script and the styles that a page of the console begins with. */
export const filesOfPage = (html: string): readonly string[] =>
  [...html.matchAll(/<(?:script|link)\b[^>]* (?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(
    ([, path]) => path ?? '',
  );

/** Whether the server serves another build than the one that runs here. No, while no server answers or builds it. */
export async function isOtherBuild(): Promise<boolean> {
  const html = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-store' }).then(
    (answer) => (answer.ok ? answer.text() : ''),
    () => '',
  );
  return filesOfPage(html).some((path) => document.querySelector(`[src="${path}"], [href="${path}"]`) === null);
}
