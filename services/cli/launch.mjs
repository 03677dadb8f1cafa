/**
 * Runs a program of this repository on the Node that the repository includes (24). The machine needs only Node 20 or
 * later. Plain JavaScript without dependencies, because it also installs the dependencies:
 *
 *     node services/cli/launch.mjs <program> [arguments]
 *     node services/cli/launch.mjs --installed               # from npm, when it has installed the dependencies
 *
 * It is also in the npm package, where npm has installed the dependencies in the folder of the package or beside it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
/** npm puts no lock file into a package. */
const isPackage = !existsSync(join(root, 'package-lock.json'));
const nodeIn = (folder) => join(folder, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const within = join(root, 'node_modules');
const modules = isPackage && !existsSync(nodeIn(within)) ? dirname(root) : within;
const node = nodeIn(modules);
const stamp = join(modules, '.anneal-installed');
/** A copy of the lock file of the installation. The shell part of anneal.mjs compares it, because that needs no Node. */
const copy = join(modules, '.anneal-lock');
/** Node's compile cache, which halves the start time of a program. Node ignores a folder that it cannot write to. */
const compiled = join(modules, '.cache', 'anneal', 'compiled');
/** For `anneal serve`: see libs/runtime/service/node-flags.ts. */
const newObjects = '--max-semi-space-size=16';
/** Anneal uses `node:sqlite`, and what later versions of it offer. */
const leastMajor = 24;
/** How long a program may take to stop after its npm has ended. A server stops its services, and then its lab. */
const longestStopMs = 30_000;
const orphan = new URL('./orphan.mjs', import.meta.url).href;

/**
 * Installs the dependencies when the lock file has changed since the last installation. Reports it on standard error.
 */
function install() {
  if (isPackage) return;
  const lock = readFileSync(join(root, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted && existsSync(node)) {
    keepCopy(lock);
    return;
  }
  process.stderr.write('Installing the dependencies of Anneal (npm install; once, about half a minute) …\n');
  // `npm install --no-save` follows the lock file like `npm ci`, but changes files in place. `npm ci` would remove the
  // files of a running server.
  const npm = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  });
  if (npm.status !== 0 || !existsSync(node)) {
    process.stderr.write(
      npm.status === 0
        ? `npm install succeeded, but ${node} is not there: the install script of the package "node" did not run. Run: npm rebuild node\n`
        : 'npm install failed; its output is above. Check that the npm registry is reachable, then run this command again.\n',
    );
    process.exit(1);
  }
  record(lock);
}

/** Records what is installed, so that no command installs it again. */
function record(lock) {
  mkdirSync(modules, { recursive: true });
  writeFileSync(stamp, createHash('sha256').update(lock).digest('hex'));
  keepCopy(lock);
}

/** The end of `npm install`: also builds the commands. They work without the build, only more slowly. */
function finishInstallation() {
  if (isPackage || !existsSync(node)) return;
  record(readFileSync(join(root, 'package-lock.json')));
  const build = join(root, 'services', 'cli', 'bundle', 'build.ts');
  spawnSync(node, ['--disable-warning=ExperimentalWarning', build], { stdio: 'ignore' });
}

/** Node in the package: the one that npm has installed with it, or this one when that is new enough. */
function nodeOfPackage() {
  if (existsSync(node)) return node;
  if (Number.parseInt(process.versions.node, 10) >= leastMajor) return process.execPath;
  process.stderr.write(
    `Node ${process.versions.node} is too old for Anneal, and ${node} is not there: npm did not run the install script of ` +
      `the package "node". Run: npm rebuild node (or start with Node ${leastMajor} or later)\n`,
  );
  process.exit(1);
}

/** Without the copy, for example in a folder that this user cannot write to, commands only start more slowly. */
function keepCopy(lock) {
  try {
    if (existsSync(copy) && readFileSync(copy).equals(lock)) return;
    // Rename, because another process may read the file.
    const written = `${copy}.${process.pid}`;
    writeFileSync(written, lock);
    renameSync(written, copy);
  } catch {
    // The slow start also works.
  }
}

/**
 * Runs the program in this process where the system can replace a program by another (`execve`), because a launcher that
 * waits keeps 50 MB. Under npm the launcher stays: npm repeats a Ctrl-C of the terminal, and the program must get one.
 */
export function launch(program, programArguments) {
  install();
  const runtime = isPackage ? nodeOfPackage() : node;
  const path = [dirname(runtime), join(modules, '.bin'), process.env.PATH ?? ''].join(delimiter);
  const isOurs = program.endsWith('.ts');
  const isServer = programArguments[0] === 'serve';
  const start = {
    runtime,
    flags: [
      '--disable-warning=ExperimentalWarning',
      ...(isServer && !process.env.NODE_OPTIONS?.includes('semi-space-size') ? [newObjects] : []),
    ],
    words: [program, ...programArguments],
    env: {
      ...(isOurs && { NODE_COMPILE_CACHE: compiled }),
      ...process.env,
      PATH: path,
    },
  };
  if (process.execve && process.platform !== 'win32' && process.env.npm_lifecycle_event === undefined) {
    process.execve(runtime, [runtime, ...start.flags, ...start.words], start.env);
  }
  runBeside(start, { isWatched: isOurs });
}

/**
 * Starts the program in another process, and exits with its exit status, or with 128 + the signal, as shells do.
 * When this process is killed, a pipe closes and the program ends too: see orphan.mjs. When the npm that started it has
 * ended, the program is stopped in order.
 */
function runBeside({ runtime, flags, words, env }, { isWatched }) {
  const child = spawn(runtime, [...flags, ...(isWatched ? ['--import', orphan] : []), ...words], {
    stdio: ['inherit', 'inherit', 'inherit', ...(isWatched ? ['pipe'] : [])],
    env,
  });
  // A signal to the terminal's process group also reaches the child. Forward a signal to this process alone.
  let isStopping = false;
  const forward = (signal) => () => {
    isStopping = true;
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward(signal));
  if (process.env.npm_lifecycle_event !== undefined) {
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid === parent || isStopping) return;
      isStopping = true;
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), longestStopMs).unref();
    }, 250).unref();
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
  child.on('error', (error) => {
    process.stderr.write(`${runtime} could not be started: ${error.message}\n`);
    process.exit(1);
  });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [program, ...rest] = process.argv.slice(2);
  if (program === '--installed') {
    finishInstallation();
    process.exit();
  }
  if (!program) {
    process.stderr.write('usage: node services/cli/launch.mjs <program> [arguments]\n');
    process.exit(2);
  }
  process.chdir(root);
  launch(join(root, program), rest);
}
