import { expect, it } from 'vitest';
import { filesOfPage } from './served-build.ts';

it('finds the script and the styles of a built page, and none in the page that waits for a build', () => {
  const built = `<link rel="icon" href="/assets/icon-a1.svg" />
    <script src="/assets/zod-without-eval-1.js"></script>
    <script type="module" crossorigin src="/assets/index-Bx1.js"></script>
    <link rel="stylesheet" crossorigin href="/assets/index-C_2.css">`;
  expect(filesOfPage(built)).toEqual([
    '/assets/zod-without-eval-1.js',
    '/assets/index-Bx1.js',
    '/assets/index-C_2.css',
  ]);
  expect(filesOfPage('<meta http-equiv="refresh" content="2"><h1>The console is being built</h1>')).toEqual([]);
});
