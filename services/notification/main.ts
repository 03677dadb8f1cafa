import { runMain } from '@anneal/runtime/main.ts';
import { notificationService } from './service.ts';

await runMain(notificationService);
