// SPDX-License-Identifier: Apache-2.0

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// The build must give the same bytes from the same sources: a test compares it with the files that
// are committed.
export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    outDir: process.env.CONSOLE_OUT ?? '../internal/console/dist',
    emptyOutDir: true,
    // A release lists the bundled packages and their licences.
    license: { fileName: 'licenses.json' },
    sourcemap: false,
    target: 'es2022',
    chunkSizeWarningLimit: 1000,
    assetsInlineLimit: 0,
  },
})
