import { describe, expect, it } from 'vitest';
import { manifestOf } from './manifest.ts';
import { loadedSources, toJavaScript } from './sources.ts';

const folders = new Map([
  ['@anneal/bus', 'libs/bus'],
  ['@anneal/cli', 'services/cli'],
]);

describe('the JavaScript of a source', () => {
  it('has no types, and relative names of files', () => {
    const text = [
      "import type { A } from './a.ts';",
      "import { b } from '@anneal/bus/deep/b.ts';",
      "import { zod } from 'zod';",
      "const c = await import('../c.ts');",
      "const worker = new URL('worker.ts', import.meta.url);",
      "const ends = (name: string): boolean => name.endsWith('.ts');",
      '',
    ].join('\n');
    expect(
      toJavaScript(text, 'services/cli/print/x.ts', folders)
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([
      '',
      "import { b } from '../../../libs/bus/deep/b.js';",
      "import { zod } from 'zod';",
      "const c = await import('../c.js');",
      "const worker = new URL('worker.js', import.meta.url);",
      "const ends = (name        )          => name.endsWith('.js');",
      '',
    ]);
  });

  it('is of what a program loads, also in workers and when it runs', async () => {
    const texts: Record<string, string> = {
      'services/cli/main.ts': "import '@anneal/bus/open.ts';\nawait import('./later.ts');",
      'services/cli/later.ts': "import { type A, a } from '../cli/main.ts';",
      'libs/bus/open.ts': "new Worker(new URL('worker.ts', import.meta.url));",
      'libs/bus/worker.ts': "// join(root, 'main.ts') is put together from parts",
    };
    const found = await loadedSources({
      programs: ['services/cli/main.ts'],
      folders,
      textOf: async (path) => texts[path] ?? Promise.reject(new Error(`no ${path}`)),
    });
    expect(Object.fromEntries(found)).toEqual(texts);
  });
});

describe('the manifest of the package', () => {
  const root = { name: 'anneal', version: '1.2.3', dependencies: { node: '24.0.0' } };

  it('has the packages of others that ours need, with their versions', () => {
    const packages = [
      { name: '@anneal/bus', version: '1.2.3', dependencies: { zod: '4.0.0', '@anneal/store': '1.2.3' } },
      { name: '@anneal/store', version: '1.2.3', dependencies: { mongodb: '7.0.0', zod: '4.0.0' } },
    ];
    expect(manifestOf({ root, packages })).toMatchObject({
      version: '1.2.3',
      bin: { anneal: 'services/cli/anneal.mjs' },
      dependencies: { mongodb: '7.0.0', node: '24.0.0', zod: '4.0.0' },
    });
  });

  it('refuses two versions of the same package', () => {
    const packages = ['4.0.0', '4.0.1'].map((zod, index) => ({
      name: `@anneal/p${index}`,
      version: '1.2.3',
      dependencies: { zod },
    }));
    expect(() => manifestOf({ root, packages })).toThrow('@anneal/p1 needs zod 4.0.1, and another package 4.0.0.');
  });
});
