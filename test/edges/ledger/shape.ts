/**
 * What of an answer must be the same on every chain: keys in their order, and types.
 *
 * Lists are as their items together, so that one of two records of a kind is enough.
 */
export function shapeOf(value: unknown): unknown {
  if (value === null) return 'null';
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))].toSorted();
  if (typeof value === 'object') return Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]);
  return typeof value;
}
