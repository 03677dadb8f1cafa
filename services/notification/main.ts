import { runMain } from '@anneal/runtime/service/main.ts';
import { notificationService } from './service.ts';

await runMain(notificationService);
