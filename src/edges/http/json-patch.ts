/** An operation of a JSON Patch (RFC 6902), as far as differences need them. */
export type PatchOperation = Readonly<
  { op: 'add' | 'replace'; path: string; value: unknown } | { op: 'remove'; path: string }
>;

/**
 * The JSON Patch (RFC 6902) that leads from one document to another; lists are replaced as one.
 *
 * @example patchBetween({ a: 1 }, { a: 3 }) // [{ op: 'replace', path: '/a', value: 3 }]
 */
export function patchBetween(from: unknown, to: unknown, path = ''): PatchOperation[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  if (!isObject(from) || !isObject(to)) return [{ op: 'replace', path, value: to }];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return names.flatMap((name): PatchOperation[] => {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!Object.hasOwn(to, name)) return [{ op: 'remove', path: at }];
    if (!Object.hasOwn(from, name)) return [{ op: 'add', path: at, value: to[name] }];
    return patchBetween(from[name], to[name], at);
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
