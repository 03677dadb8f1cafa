/**
 * Builds the FerretDB of the tests. Its SQLite handler reads a whole collection for nearly every query, which makes
 * thousands of documents unbearably slow; with `patch/` it asks SQLite's indexes first, the one on ids among them. FerretDB is pinned, so the place
 * where the patch goes is known; should it ever not be found, the build says so.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, isProgram } from '../program.ts';

const run = promisify(execFile);
const source = import.meta.dirname;
const upstream = 'github.com/FerretDB/FerretDB';
const own = ['go.mod', 'go.sum', 'main.go', 'front.go'];
const patch = join('patch', 'pushdown.go');
const handler = join('internal', 'backends', 'sqlite');
const queried = /\tvar whereClause string\n\tvar args \[\]any\n[\s\S]*?\n\tq \+= whereClause\n/;
/** Written unlike the expression of the index on it, so that every look for an id reads the whole collection. */
const idColumn = /IDColumn = DefaultColumn \+ "->'\$\._id'"/;
/** Each update of a command keeps its connection until the last is done: a long list waits for itself for ever. */
const updated = /\t\tresult, err := common\.UpdateDocument\(ctx, c, "update", iter, &u\)\n/;

/** The program; built when this source has not been built before on this machine. */
export async function buildFerretdb(go: string): Promise<string> {
  const cache = cacheFolder();
  // Named by what it is built from: a change of the source is a new program, and two builders do not meet.
  const hash = createHash('sha256');
  for (const name of [...own, patch, 'build.ts']) hash.update(await readFile(join(source, name)));
  const program = join(cache, `ferretdb-${hash.digest('hex').slice(0, 16)}`);
  if (await isProgram(program)) return program;
  process.stderr.write(`Building FerretDB for the tests of the MongoDB store as ${program}; once, some minutes.\n`);
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'build-'));
  try {
    for (const name of own) await cp(join(source, name), join(folder, name));
    await copyUpstream(go, folder);
    await run(go, ['mod', 'edit', '-replace', `${upstream}=./upstream`], { cwd: folder });
    await run(go, ['build', '-o', 'ferretdb', '.'], { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
    await rename(join(folder, 'ferretdb'), program);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return program;
}

async function copyUpstream(go: string, folder: string): Promise<void> {
  const { stdout } = await run(go, ['mod', 'download', '-json', upstream], { cwd: folder });
  const { Dir: from } = JSON.parse(stdout) as { Dir: string };
  const to = join(folder, 'upstream');
  await cp(from, to, { recursive: true });
  await makeWritable(to);
  await cp(join(source, patch), join(to, handler, 'pushdown.go'));
  await change(
    join(to, handler, 'collection.go'),
    queried,
    '\twhereClause, args := pushdown(params.Filter)\n\tq += whereClause\n',
  );
  await change(join(to, handler, 'metadata', 'metadata.go'), idColumn, 'IDColumn = DefaultColumn + `->"_id"`');
  await change(join(to, 'internal', 'handler', 'msg_update.go'), updated, (found) => `${found}\t\tcloser.Close()\n`);
}

async function change(file: string, place: RegExp, to: string | ((found: string) => string)): Promise<void> {
  const text = await readFile(file, 'utf8');
  if (!place.test(text)) throw new Error(`the place of the patch is not in ${file}`);
  await writeFile(file, text.replace(place, typeof to === 'string' ? () => to : to));
}

/** The module cache is read-only, and so is what is copied from it. */
async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
    else if (entry.isFile()) await chmod(join(folder, entry.name), 0o644);
  }
}
