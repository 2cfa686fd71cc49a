import { appendProbes, connectTo, freshLog, freshNetwork, probeOf } from '../log.ts';
import { perSecond } from '../rounds.ts';
import type { Context } from '../context.ts';
import type { Contender } from '../rounds.ts';
import type { Row } from '../row.ts';
import { openEmmett } from '../systems.ts';

/** Reading a stream from its first event on, each one decoded and checked, into no table. */
export function rows(context: Context): readonly Row[] {
  return [
    {
      name: 'replay',
      unit: 'events/s',
      better: 'higher',
      peerName: 'emmett-postgresql 0.42.0, readStream',
      target: { ours: 95_000, ratio: 4 },
      measure: async () => {
        const { log } = await freshLog(await connectTo(context, 'relaxed'));
        const events = context.size(200_000, 5_000);
        await appendProbes(log, { nodes: 500, events });
        const ours = () =>
          perSecond(events, async () => {
            const { signal } = context;
            let seen = 0;
            for await (const { facts } of log.follow('PROBES', 0, { signal })) {
              seen += facts.length;
              if (seen >= events) return;
            }
          });
        return context.inTurn('higher', ours, () => emmett(context));
      },
    },
  ];
}

/** One stream of a tenth as many events: it gives them back whole. */
async function emmett(context: Context): Promise<Contender> {
  const peer = await openEmmett(context);
  const stream = freshNetwork();
  const events = context.size(20_000, 500);
  await peer.ask('fill', { stream, facts: [probeOf('node', 0)], events });
  return () => peer.ask('read', { stream, events });
}
