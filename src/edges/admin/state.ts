import { Type } from 'typebox';
import { type App, errors, plainAnswer } from '../http/schema.ts';
import type { AdminState } from './admin-state.ts';
import { addLocalNodes, nodeComponents } from './local-nodes.ts';
import { readOverview } from './overview.ts';
import { addProofs, proofComponents } from './proofs.ts';
import { adminComponents, lists } from './schemas.ts';
import { addTail } from './tail.ts';
import { leasesView, type LogEnds, logsView, lossesView, projectionsView, sourcesView, streamsView } from './views.ts';

/** What these routes read, and the time. */
export type StateOptions = AdminState & Readonly<{ clock: () => number }>;

/** The components of these routes. */
export const stateComponents = [...adminComponents, ...nodeComponents, ...proofComponents];

/** Name of their group in the document. */
export const stateTag = 'State';
const tags = [stateTag];

/** Routes of what the parts of an instance are doing, and of what its log has. */
export function addState(app: App, options: StateOptions): void {
  const { generations, heads, lag, rounds, archive, logs, leases, clock } = options;
  const ends = async (): Promise<LogEnds> => ({ heads: await heads(), lagMs: lag.lagMs });
  app.get('/admin/v1/projections', { schema: listing('projections', 'Read models and their lag') }, async () =>
    projectionsView(await generations(), await ends()),
  );
  app.get('/admin/v1/streams', { schema: listing('streams', 'Streams of the log and their archives') }, async () =>
    streamsView(await archive(), await ends()),
  );
  app.get('/admin/v1/sources', { schema: listing('sources', 'Sources of sync and their last rounds') }, async () =>
    sourcesView(await rounds(), clock()),
  );
  app.get('/admin/v1/leases', { schema: listing('leases', 'Leases and the processes that hold them') }, async () =>
    leasesView(await leases.list()),
  );
  app.get('/admin/v1/logs', { schema: listing('logs', 'How far the proven logs are signed') }, async () =>
    logsView(await logs(), await ends()),
  );
  app.get('/admin/v1/losses', { schema: listing('losses', 'Events that no store has any more') }, async () =>
    lossesView(await archive()),
  );
  addOverview(app, options);
  addLocalNodes(app, options.nodes);
  addProofs(app, options.proven);
  addTail(app, options.tail);
}

function addOverview(app: App, options: StateOptions): void {
  const schema = {
    tags,
    operationId: 'status',
    summary: 'All of it at one glance, as `annals status --json` prints it',
    response: {
      200: plainAnswer('Streams, read models, archive, sync.', Type.Unsafe<object>({ type: 'object' })),
      ...errors(),
    },
  };
  app.get('/admin/v1/status', { schema }, async () => await readOverview(options));
}

function listing<Name extends keyof typeof lists>(name: Name, summary: string) {
  return {
    tags,
    operationId: name,
    summary,
    response: { 200: plainAnswer(`${summary}.`, lists[name].ref), ...errors() },
  };
}
