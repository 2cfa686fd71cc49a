import { Type } from 'typebox';
import { ActionsByNode } from '../../../projections/actions/queries.ts';
import type { PaidTotal } from '../../../projections/actions/totals/payment-counters.ts';
import { PaymentsOfNode } from '../../../projections/fleet/queries.ts';
import { type App, readAnswers, readRequestHeaders } from '../../http/schema.ts';
import { createNodeAnswers, type NodeAnswers } from '../height/node-answers.ts';
import { nodeRecordRoutes } from '../height/node-routes.ts';
import { chainQuery } from './action-schemas.ts';
import { operatorAddress } from './addresses.ts';
import { instantOf, recordInstantOf } from './as-of.ts';
import type { RouteDependencies } from './dependencies.ts';
import type { ReadSnapshot } from './reads.ts';
import * as schemas from './supernode-schemas.ts';
import { existing } from './supernode-views.ts';

const tags = ['SuperNodes'];
const withActions = { projections: ['supernodes', 'actions'], sources: ['supernodes', 'actions'] } as const;
const params = Type.Object({ id: operatorAddress });

/** What the chain states of SuperNodes, also at a height of it: records, payments, finalized actions. */
export function nodeSumRoutes(app: App, dependencies: RouteDependencies): void {
  const atHeight = createNodeAnswers(dependencies);
  nodeRecordRoutes(app, dependencies, atHeight);
  addPayments(app, dependencies, atHeight);
  addActionStats(app, dependencies, atHeight);
}

function addPayments(app: App, { read }: RouteDependencies, atHeight: NodeAnswers): void {
  const schema = {
    tags,
    operationId: 'superNodePayments',
    summary: 'What a SuperNode was paid',
    description:
      'Transfers from the action module to the accounts that were the operator’s at the time, inside finalize transactions.',
    params,
    querystring: chainQuery,
    headers: readRequestHeaders,
    response: readAnswers('One entry per denomination.', schemas.paymentInfo.ref, 400, 404, 409, 410),
  };
  app.get('/v1/supernodes/:id/paymentInfo', { schema }, async (request, reply) => {
    const scope = { ...withActions, instant: recordInstantOf(request) };
    return await read(reply, scope, async (snapshot) => {
      const { id } = request.params;
      const { at_height: height } = request.query;
      const totals =
        height === undefined ? await paymentsOf(snapshot, id) : await atHeight.payments(snapshot, { id, height });
      const payments = totals.map(({ denom, amount, transactions }) => ({
        denom,
        total_amount: amount,
        payment_count: transactions,
      }));
      return { id, payments };
    });
  });
}

async function paymentsOf(snapshot: ReadSnapshot, id: string): Promise<readonly PaidTotal[]> {
  const { id: operator } = await existing(snapshot, id);
  return await snapshot.ask(new PaymentsOfNode({ operator }));
}

function addActionStats(app: App, { read }: RouteDependencies, atHeight: NodeAnswers): void {
  const schema = {
    tags,
    operationId: 'superNodeActionStats',
    summary: 'How many actions each SuperNode finalized',
    description: 'Every SuperNode, zeros too, ordered by id.',
    querystring: chainQuery,
    headers: readRequestHeaders,
    response: readAnswers('Every SuperNode.', schemas.nodeActions.ref, 400, 409, 410),
  };
  app.get('/v1/supernodes/action-stats', { schema }, async ({ query }, reply) => {
    return await read(reply, { ...withActions, instant: instantOf({ query }) }, async (snapshot) => {
      const { at_height: height } = query;
      const nodes =
        height === undefined ? await snapshot.ask(new ActionsByNode({})) : await atHeight.actions(snapshot, height);
      const supernodes = nodes.map(({ id, cascade, sense }) => ({
        id,
        cascade_count: cascade,
        sense_count: sense,
        total_count: cascade + sense,
      }));
      return { supernodes };
    });
  });
}
