/** Loaded into a measured program: it collects its garbage when it receives SIGUSR2. */
process.on('SIGUSR2', () => globalThis.gc?.());
