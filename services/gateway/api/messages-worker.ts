/** The program of a worker thread: sends the text of the AsyncAPI document and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { asyncApi } from '@anneal/contracts/asyncapi/document.ts';
import { definitionsByFile } from '@anneal/contracts/registry.ts';

parentPort?.postMessage(JSON.stringify(asyncApi({ version: workerData as string, byFile: definitionsByFile })), []);
