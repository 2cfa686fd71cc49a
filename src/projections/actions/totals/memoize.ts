type Part = string | number;

/** So many texts are some megabytes. */
const mostRemembered = 50_000;

/**
 * Makes the same of two parts only once, as long as it is remembered: a pure function of them, whose result nobody changes.
 *
 * The same text is found faster by its parts than it is put together, and a text that was looked up before is looked up faster.
 * Everything is forgotten when it becomes too much. The first part is the one that has fewer values.
 *
 * @example const nameOf = remembered((type: string, account: string) => `finalized:${type},${account}`)
 */
export function remembered<A extends Part, B extends Part, T>(make: (a: A, b: B) => T): (a: A, b: B) => T {
  const known = new Map<A, Map<B, T>>();
  let count = 0;
  return (a, b) => {
    const before = known.get(a)?.get(b);
    if (before !== undefined) return before;
    if (count >= mostRemembered) {
      known.clear();
      count = 0;
    }
    const made = make(a, b);
    const some = known.get(a);
    if (some) some.set(b, made);
    else known.set(a, new Map([[b, made]]));
    count += 1;
    return made;
  };
}
