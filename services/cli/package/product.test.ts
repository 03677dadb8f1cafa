import { builtinModules, stripTypeScriptTypes } from 'node:module';
import { beforeAll, expect, it } from 'vitest';
import { readProduct } from './product.ts';
import { toJavaScript } from './sources.ts';

let product: Awaited<ReturnType<typeof readProduct>>;
beforeAll(async () => {
  product = await readProduct();
});

it('loads the services, the workers and the lab, and no test', () => {
  const paths = [...product.sources.keys()];
  for (const path of [
    'services/cli/main.ts',
    'services/scheduling/main.ts',
    'services/scheduling/engine/evaluation-worker.ts',
    'services/templating/worker.ts',
    'services/cli/command/serve.ts',
    'deploy/lab/main.ts',
  ]) {
    expect(paths).toContain(path);
  }
  expect(paths.filter((path) => /\.(test|contract)\.ts$|^test\/|\/package\//.test(path))).toEqual([]);
});

it('declares every package of others that a source imports', () => {
  const declared = Object.keys(product.manifest.dependencies);
  const missing = new Map<string, string>();
  for (const [path, text] of product.sources) {
    for (const { groups } of stripTypeScriptTypes(text).matchAll(
      /^(?:import|export)\b[^;]*?from '(?<name>[^'.][^']*)';$/gm,
    )) {
      const name = groups!['name']!;
      const bare = name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/');
      if (name.startsWith('node:') || builtinModules.includes(bare) || bare.startsWith('@anneal/')) continue;
      if (!declared.includes(bare)) missing.set(bare, path);
    }
  }
  expect([...missing]).toEqual([]);
});

it('is JavaScript whose imports are relative, on the lines of the sources', () => {
  const { sources, folders } = product;
  for (const [path, text] of sources) {
    const plain = toJavaScript(text, path, folders);
    expect(plain.split('\n').length, path).toBe(text.split('\n').length);
    expect(plain, path).not.toMatch(/(from|import\(|new URL\() *'[^']*(\.ts|@anneal\/[^']*)'/);
  }
});
