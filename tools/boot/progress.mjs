const QUIET_MS = 2_000;
const REMIND_MS = 10_000;

/** Tells whoever waits at the terminal; standard output belongs to the program. */
export function say(message) {
  process.stderr.write(`annals: ${message}\n`);
}

/** Runs one step and speaks of it only when it takes longer than two seconds. */
export async function step(what, work) {
  const started = performance.now();
  const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
  let spoken = false;
  const first = setTimeout(() => {
    spoken = true;
    say(`${what} …`);
  }, QUIET_MS);
  const reminder = setInterval(() => say(`${what} … ${seconds()}`), REMIND_MS);
  try {
    const result = await work();
    if (spoken) say(`${what}: done in ${seconds()}`);
    return result;
  } finally {
    clearTimeout(first);
    clearInterval(reminder);
  }
}
