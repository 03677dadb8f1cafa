/** Loaded into the programs that launch.mjs starts. Ends the process at once when its launcher is killed. */
import { Socket } from 'node:net';

const pipe = new Socket({ fd: 3 });
pipe.on('error', () => {});
pipe.on('close', () => process.kill(process.pid, 'SIGKILL'));
pipe.resume();
pipe.unref();
