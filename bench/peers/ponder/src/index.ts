import { ponder } from 'ponder:registry';
import { node } from 'ponder:schema';

ponder.on('Probes:Probed', async ({ event, context }) => {
  const { args } = event;
  const last = { available: true, peers: Number(args.peers), lastSeenAt: args.at };
  await context.db
    .insert(node)
    .values({ id: `node${args.node}`, ...last, probes: 1 })
    .onConflictDoUpdate((row) => ({ ...last, probes: row.probes + 1 }));
});
