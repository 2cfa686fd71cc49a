/**
 * Returns whether `If-None-Match` names a tag; compares weakly, as RFC 9110 has it.
 *
 * `*` names none: whether there is an answer at all is known only once its query ran.
 *
 * @example namesTag('"a", W/"b"', 'W/"b"') // true
 */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const named: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return named.includes(tag.replace(/^W\//, ''));
}
