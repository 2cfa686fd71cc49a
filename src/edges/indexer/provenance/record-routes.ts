import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import type { App } from '../../http/schema.ts';
import { actionAt } from '../height/actions-at-height.ts';
import { actionDetail } from '../rest/action-schemas.ts';
import { detailOf } from '../rest/action-views.ts';
import { operatorAddress } from '../rest/addresses.ts';
import { recordInstantOf } from '../rest/as-of.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { superNodeMetrics } from '../rest/supernode-schemas.ts';
import { existing, metricsOf } from '../rest/supernode-views.ts';
import { explainedAction, explainedNode } from './explained.ts';
import { answerDiff, type ShownRecord } from './record-diff.ts';
import { actionQuery, explainable } from './record-schemas.ts';

/** An operator's accounts come from the SuperNodes. */
const ofAction = { projections: ['actions', 'supernodes'], sources: ['actions', 'supernodes'] } as const;
/** Ranks are those of the last round, which is a fact too. */
const ofNode = {
  projections: ['supernodes', 'availability', 'validators', 'rounds'],
  sources: ['supernodes', 'validators'],
} as const;

/** One action and one SuperNode, each with what explains it, and with what it was at another instant. */
export function recordRoutes(app: App, dependencies: RouteDependencies): void {
  addAction(app, dependencies);
  addSuperNode(app, dependencies);
}

function addAction(app: App, dependencies: RouteDependencies): void {
  const schema = {
    tags: ['Actions'],
    operationId: 'actionById',
    summary: 'One action with all that is known of it',
    params: Type.Object({ id: Type.String({ description: 'Decimal id on the chain.' }) }),
    ...explainable('The action.', actionDetail.ref, 409),
    querystring: actionQuery,
  };
  app.get('/v1/actions/:id', { schema }, async (request, reply) => {
    const { id } = request.params;
    const { explain, diff, at_height: height } = request.query;
    if (height !== undefined && (explain || diff !== undefined))
      throw new AppError('INVALID_ARGUMENT', 'at_height is answered alone, without explain and diff.');
    const answer: ShownRecord['answer'] = async (snapshot) => {
      const row = isActionId(id) ? await actionAt(dependencies, snapshot, { id, height }) : undefined;
      if (!row)
        throw new AppError(
          'NOT_FOUND',
          `There is no action of this id${height === undefined ? '' : ' at that height'}.`,
        );
      const detail = await detailOf(snapshot.ask, row);
      if (!explain) return detail;
      const fieldsOf = async (at: typeof row) => await detailOf(snapshot.ask, at);
      return { ...detail, explained: await explainedAction(dependencies, snapshot, { id, fieldsOf }) };
    };
    if (diff !== undefined)
      return await answerDiff(dependencies, reply, {
        record: { scope: ofAction, answer },
        instants: { ...request.query, diff },
      });
    return await dependencies.read(reply, { ...ofAction, instant: recordInstantOf(request) }, answer);
  });
}

/** Decimal, as the chain writes it; no id is longer than the chain's own 64 bits, with room to spare. */
function isActionId(id: string): boolean {
  return /^(0|[1-9]\d{0,77})$/.test(id);
}

function addSuperNode(app: App, dependencies: RouteDependencies): void {
  const schema = {
    tags: ['SuperNodes'],
    operationId: 'superNodeMetrics',
    summary: 'One SuperNode with its latest figures',
    params: Type.Object({ id: operatorAddress }),
    ...explainable('The SuperNode.', superNodeMetrics.ref),
  };
  app.get('/v1/supernodes/:id/metrics', { schema }, async (request, reply) => {
    const { id } = request.params;
    const { explain, diff } = request.query;
    const answer: ShownRecord['answer'] = async (snapshot) => {
      const [node, rankOf] = [await existing(snapshot, id), await dependencies.ranks(snapshot)];
      const metrics = metricsOf(node, rankOf);
      if (!explain) return metrics;
      const showing = (columns: object) => metricsOf({ ...node, ...columns }, rankOf);
      return { ...metrics, explained: await explainedNode(dependencies, snapshot, { id, showing }) };
    };
    if (diff !== undefined)
      return await answerDiff(dependencies, reply, {
        record: { scope: ofNode, answer },
        instants: { ...request.query, diff },
      });
    return await dependencies.read(reply, { ...ofNode, instant: recordInstantOf(request) }, answer);
  });
}
