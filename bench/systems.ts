import type { Context } from './context.ts';
import type { Peer } from './peer.ts';

/** emmett on the group's PostgreSQL, a server that Annals' own read models lie on as well. */
export async function openEmmett(context: Context): Promise<Peer> {
  const { config } = await context.postgres();
  const peer = await context.peer('emmett');
  await peer.ask('open', { config });
  return peer;
}

/** ponder on the group's PostgreSQL, before a chain that the driver makes up. */
export async function openPonder(context: Context): Promise<Peer> {
  const { config } = await context.postgres();
  const peer = await context.peer('ponder');
  await peer.ask('open', { config, folder: await context.folder('ponder') });
  return peer;
}

/**
 * Has ponder serve GraphQL over as many rows, which lie in its tables as an indexer would have left them; gives back
 * the address.
 */
export async function servePonder(
  context: Context,
  rows: Readonly<{ actions: number; supernodes: number }>,
): Promise<string> {
  const peer = await openPonder(context);
  return `http://127.0.0.1:${await peer.ask('serve', rows)}/graphql`;
}
