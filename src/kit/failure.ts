const never = new Promise<never>(() => undefined);

/** Rejects with the first failure of some lasting work, unless the signal aborted before; never resolves. */
export function failureOf(work: readonly Promise<unknown>[], signal: AbortSignal): Promise<never> {
  const failed = Promise.all(work).then(
    () => never,
    (caught: unknown) => (signal.aborted ? never : Promise.reject(caught)),
  );
  failed.catch(() => undefined);
  return failed;
}
