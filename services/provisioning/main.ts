import { runMain } from '@anneal/runtime/main.ts';
import { provisioningService } from './service.ts';

await runMain(provisioningService);
