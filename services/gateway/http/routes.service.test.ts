/**
 * Holds that every route is a declaration (`route.ts`): its schemas read the request, and nothing beside them does. A file
 * that must do otherwise has a line below, with the reason.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const gateway = join(import.meta.dirname, '..');

const exceptions: Readonly<Record<string, string>> = {
  'cfn/describe.ts': 'the form of a refused request says in which type the error is wanted',
  'identity/ec2-signature.ts': 'its request is a signed text and none of the server',
  'repeats/repeats.ts': 'a repeat has the same body, whatever it says',
  'ironic/family.ts': 'a version of the API decides which fields a request may have',
};

/** The reads of a query or a body; not a hook that sets a body. */
const reads = [/\brequest\.(?:query|body)\b(?!\s*=[^=])/g, /\{[^{}]*\b(?:query|body)\b[^{}]*\}\s*=\s*request\b/g];
/** The names that a file gives to a scope of the server. */
const scopeName = /(\w+)\??: FastifyInstance\b|\.register\(\s*(?:async )?\(?(\w+)|(\w+) = [Ff]astify\(/g;

const readsIn = (text: string): string[] =>
  reads.flatMap((pattern) => [...text.matchAll(pattern)].map(([place]) => place));

function registrationsIn(text: string): string[] {
  const named = [...text.matchAll(scopeName)].flatMap(([, ...names]) => names.filter((name) => name !== undefined));
  const scopes = [...new Set(['scope', 'app', ...named])].join('|');
  const registers = new RegExp(
    String.raw`\b(?:${scopes})\s*\.(?:get|head|post|put|patch|delete|options|all|route)\b(?:<[^()]*>)?\(`,
    'g',
  );
  return [...text.matchAll(registers)].map(([place]) => place);
}

const without = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm;
const found = new Map(
  globSync('**/*.ts', { cwd: gateway, exclude: ['**/node_modules/**', 'http/**', 'testing/**', '**/*.test.ts'] }).map(
    (file) => {
      const text = readFileSync(join(gateway, file), 'utf8').replaceAll(without, '');
      return [file, [...readsIn(text), ...registrationsIn(text)]] as const;
    },
  ),
);
const exceptionOf = (file: string): string | undefined => (Object.hasOwn(exceptions, file) ? file : undefined);

describe('the routes of the gateway', () => {
  it('are declared, and only their schemas read a query or a body', () => {
    const wrong = [...found].filter(([file, places]) => places.length > 0 && exceptionOf(file) === undefined);
    expect(wrong).toEqual([]);
  });

  it('each exception is still needed', () => {
    const used = new Set([...found].flatMap(([file, places]) => (places.length > 0 ? [exceptionOf(file)] : [])));
    expect(Object.keys(exceptions).filter((each) => !used.has(each))).toEqual([]);
  });

  it.each([
    ["(forms: FastifyInstance) => forms.get('/a', show)", 'forms.get('],
    ['scope.register((own) => own.route<Path>({ url }))', 'own.route<Path>('],
    ["const app = Fastify({}); app.put('/a', set)", 'app.put('],
    ['(scope: FastifyInstance) => scope\n.post<Path>(all, add)', 'scope\n.post<Path>('],
  ])('the test sees %j', (text, place) => {
    expect(registrationsIn(text)).toEqual([place]);
  });

  it.each([
    ['show(request.query)', 'request.query'],
    ['if (request.body === undefined) return;', 'request.body'],
    ['const { params, body } = request;', '{ params, body } = request'],
  ])('the test sees %j as reading', (text, place) => {
    expect(readsIn(text)).toEqual([place]);
  });

  it('a map and a hook that sets a body are none of these', () => {
    expect(registrationsIn("known.get('a'); scope.addHook('onRoute', add); options.delete(name)")).toEqual([]);
    expect(readsIn('request.body = Object.fromEntries(fields);')).toEqual([]);
  });
});
