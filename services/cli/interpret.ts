/**
 * Lets schemas check values themselves, instead of compiling a function for each of them at its first use. A command checks
 * few values of many schemas, so the functions would cost it more than they save: the two are equal at about 2,500 rows.
 * Import this before the modules that define schemas.
 */
import { z } from 'zod';

z.config({ jitless: true });
