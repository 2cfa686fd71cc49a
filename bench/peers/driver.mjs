import { createInterface } from 'node:readline';

/**
 * Serves the bench: reads `{what, options}` line by line, answers each with `{figure}` or `{error}`, ends with its
 * input.
 *
 * Whatever a peer prints goes to standard error, so that the answers stay readable.
 */
export async function serve(deeds, end = async () => undefined) {
  const answer = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  for await (const line of createInterface(process.stdin)) {
    const { what, options } = JSON.parse(line);
    try {
      answer(`${JSON.stringify({ figure: (await deeds[what](options)) ?? 0 })}\n`);
    } catch (error) {
      answer(`${JSON.stringify({ error: String(error?.message ?? error) })}\n`);
    }
  }
  await end();
  process.exit(0);
}

/** How much is done per second. */
export async function perSecond(count, work) {
  const started = performance.now();
  await work();
  return count / ((performance.now() - started) / 1000);
}
