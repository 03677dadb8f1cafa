/** How the console is built. Every file gets its content's hash into its name, so that browsers keep it for ever. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  build: { target: 'es2023', assetsDir: 'assets', modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  // `npm run dev:console`: the API of a server that runs on the default port.
  server: {
    proxy: Object.fromEntries(
      ['/api', '/identity', '/orchestration', '/messaging', '/baremetal'].map((path) => [
        path,
        'http://127.0.0.1:8470',
      ]),
    ),
  },
});
