/** Loaded into what launch.mjs starts: ends the process at once when its launcher was killed, as if it had been killed itself. */
import { Socket } from 'node:net';

const pipe = new Socket({ fd: 3 });
pipe.on('error', () => {});
pipe.on('close', () => process.kill(process.pid, 'SIGKILL'));
pipe.resume();
pipe.unref();
