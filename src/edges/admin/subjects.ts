/** Returns whether a subject fits a pattern with the wildcards of NATS. */
export function isMatch(pattern: string, subject: string): boolean {
  const [wanted, match] = [pattern.split('.'), subject.split('.')];
  const rest = wanted.indexOf('>');
  if (rest === -1 ? wanted.length !== match.length : match.length <= rest) return false;
  return wanted.slice(0, rest === -1 ? undefined : rest).every((token, at) => token === '*' || token === match[at]);
}

/** Returns whether some subject of a stream, whose own pattern is like `evt.<kind>.<network>.*`, can fit a pattern. */
export function mayMatch(pattern: string, own: string): boolean {
  const tokens = pattern.split('.');
  return own.split('.').every((token, at) => {
    const wanted = tokens[at];
    if (tokens.slice(0, at + 1).includes('>') || wanted === '*') return true;
    return token === '*' ? wanted !== undefined : wanted === token;
  });
}
