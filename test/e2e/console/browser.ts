/** Debian's Chromium, for tests of the web console. Installed when that is permitted. */
import { existsSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium, type Browser, type Page } from 'playwright-core';
import { installDebian } from '../../backends/debian.ts';

const program = '/usr/bin/chromium';

/** A browser with these arguments, or why there is none. Other builds of Chromium are not looked for, because pictures differ. */
export async function findBrowser(args: readonly string[] = []): Promise<Browser | string> {
  if (!existsSync(program)) {
    installDebian({
      packages: ['chromium', 'fonts-inter', 'fonts-jetbrains-mono'],
      reason: 'the tests of the web console',
    });
  }
  if (!existsSync(program)) return `there is no ${program} (Debian: apt-get install chromium)`;
  return chromium.launch({ executablePath: program, args: [...args] });
}

/** Opens a page of the console with a session. */
export async function enterConsole(page: Page, server: { url: string; password: string }, path = '/'): Promise<void> {
  await page.goto(`${server.url}${path}`);
  await page.getByLabel('Password').fill(server.password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** The violations that axe finds on a page in both themes at 1440 and 390 px, and whether the page scrolls sideways. */
export async function violationsIn(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of [1440, 390]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const { violations } = await new AxeBuilder({ page }).analyze();
      const where = `at ${width} ${colorScheme}:`;
      for (const { id, nodes } of violations) found.push(`${where} ${id} ${nodes.map(({ html }) => html).join(' ')}`);
      const isWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
      if (await page.evaluate(isWide)) found.push(`${where} scrolls sideways`);
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  return found;
}
