import { runMain } from '@anneal/runtime/service/main.ts';
import { templatingService } from './service.ts';

await runMain(templatingService);
