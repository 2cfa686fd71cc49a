import { appendProbes, connectTo, freshLog } from '../log.ts';
import { perSecond } from '../rounds.ts';
import type { Context } from '../context.ts';
import type { Row } from '../row.ts';

/** Reading a stream from its first event on, each one decoded and checked, into no table. */
export function rows(context: Context): readonly Row[] {
  return [
    {
      name: 'replay',
      unit: 'events/s',
      better: 'higher',
      peerName: null,
      target: { ours: 95_000 },
      measure: async () => {
        const { log } = await freshLog(await connectTo(context, 'relaxed'));
        const events = context.size(200_000, 5_000);
        await appendProbes(log, { nodes: 500, events });
        return context.inTurn('higher', () =>
          perSecond(events, async () => {
            const { signal } = context;
            let seen = 0;
            for await (const { facts } of log.follow('PROBES', 0, { signal })) {
              seen += facts.length;
              if (seen >= events) return;
            }
          }),
        );
      },
    },
  ];
}
