/** Prints a table while it grows: how long each step took, and what was seen. */
export function stopwatch() {
  const row = (left, name, right) => console.log(`${left.padStart(9)}  ${name}${right === '' ? '' : `: ${right}`}`);
  return {
    /** Runs a step and prints its time. */
    time: async (name, work) => {
      const started = performance.now();
      const result = await work();
      row(`${((performance.now() - started) / 1000).toFixed(1)} s`, name, '');
      return result;
    },
    /** Prints something that was seen. */
    note: (name, value) => row('', name, String(value)),
  };
}
