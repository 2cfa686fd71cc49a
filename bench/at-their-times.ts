/**
 * Calls so often a second, for so many seconds, whether or not earlier calls have ended; each is given the moment at
 * which it was due, in milliseconds of `performance.now()`.
 */
export async function atTheirTimes(
  { perSecond, seconds }: Readonly<{ perSecond: number; seconds: number }>,
  call: (due: number) => void,
): Promise<void> {
  const began = performance.now();
  for (let count = 0; count < perSecond * seconds;) {
    const due = began + (count * 1000) / perSecond;
    if (due > performance.now()) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      continue;
    }
    count += 1;
    call(due);
  }
}
