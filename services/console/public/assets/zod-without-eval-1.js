// The page forbids making code from text, so zod must not try. This runs before every module that makes a schema.
globalThis.__zod_globalConfig = { jitless: true };
