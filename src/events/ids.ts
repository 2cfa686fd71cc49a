declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** The profile's name: part of every subject, stream, bucket and schema name. */
export type Network = Branded<'Network'>;

/** Accepts lower-case letters, digits and `_`, a letter first, at most 31 characters; else undefined. */
export function parseNetwork(text: string): Network | undefined {
  return isNetwork(text) ? text : undefined;
}

function isNetwork(text: string): text is Network {
  return /^[a-z][a-z0-9_]{0,30}$/.test(text);
}
