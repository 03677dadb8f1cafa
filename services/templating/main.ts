import { runMain } from '@anneal/runtime/main.ts';
import { templatingService } from './service.ts';

await runMain(templatingService);
