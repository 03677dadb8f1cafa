import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { newCredential } from './new-credential.ts';

it('a credential never begins with a hyphen, which a command takes for an option', () => {
  const drawn = [Buffer.from([0xf8, 0, 0]), Buffer.from([0xfb, 0xff, 0]), Buffer.from([0xfc, 0, 0])];
  expect(drawn.map((bytes) => bytes.toString('base64url')[0])).toEqual(['-', '-', '_']);
  expect(newCredential(3, () => drawn.shift() ?? Buffer.alloc(3))).toBe('_AAA');
  expect(Buffer.from(newCredential(32), 'base64url')).toHaveLength(32);
});

it('every generated password, secret and token in the services is such a credential', () => {
  const root = new URL('../../../', import.meta.url);
  const files = globSync('services/**/*.ts', { cwd: root }).filter((file) => !/\.test\.ts$|node_modules/.test(file));
  const drawn = files.flatMap((file) =>
    readFileSync(new URL(file, root), 'utf8')
      .split('\n')
      .flatMap((line) =>
        /randomBytes\(\d+\)\.toString\('base64(?:url)?'\)/.test(line) ? [`${file}: ${line.trim()}`] : [],
      ),
  );
  // None of these is a value of an option: they have a prefix, or are a part of an address, a hash or a header.
  const others = /`\w+\$\{randomBytes|audit_ids|const salt|boot-steps\.ts|agent\/seed\.ts/;
  expect(drawn.filter((line) => !others.test(line))).toEqual([]);
});
