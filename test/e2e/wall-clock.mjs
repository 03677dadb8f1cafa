/** A preload of a server: sets its system clock ahead by the milliseconds in the file WALL_CLOCK_FILE, which the test changes. */
import { readFileSync } from 'node:fs';

const RealDate = Date;
const realNow = Date.now.bind(Date);
const ahead = () => {
  try {
    return Number(readFileSync(process.env.WALL_CLOCK_FILE, 'utf8'));
  } catch {
    return 0;
  }
};

globalThis.Date = class extends RealDate {
  constructor(...words) {
    if (words.length === 0) super(realNow() + ahead());
    else super(...words);
  }
  static now() {
    return realNow() + ahead();
  }
};
