import { runMain } from '@anneal/runtime/main.ts';
import { configurationService } from './service.ts';

await runMain(configurationService);
