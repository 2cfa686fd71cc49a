import { Type } from 'typebox';
import { superNodeStates } from '../../../events/words.ts';
import {
  type App,
  cursorParameter,
  optional,
  query,
  readAnswers,
  readRequestHeaders,
  words,
} from '../../http/schema.ts';
import { minHeight } from '../freshness/freshness.ts';
import { operatorAddress } from '../rest/addresses.ts';
import { asOf, instantOf, instantOfWalk, recordInstantOf } from '../rest/as-of.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import type { ReadSnapshot } from '../rest/reads.ts';
import { atHeight } from './at-height.ts';
import { type NodeAnswers, superNodeRecord, superNodeRecords } from './node-answers.ts';

const tags = ['SuperNodes'];
const scope = { projections: ['supernodes', 'rounds'], sources: ['supernodes'] } as const;
const params = { at_height: atHeight, as_of: asOf, min_height: minHeight };
const description =
  'What the chain alone states, and nothing that probes find, which has a time and no height. Without `at_height`: at the height of the last SuperNode sync.';

/** `/v1/supernodes/records` and `/v1/supernodes/{id}/record`: the chain's list at a height of it. */
export function nodeRecordRoutes(app: App, { read, cursors }: RouteDependencies, answers: NodeAnswers): void {
  const listSchema = {
    tags,
    operationId: 'listSuperNodeRecords',
    summary: 'SuperNodes as the chain lists them',
    description: `${description} Ordered by id, ascending, bytewise.`,
    querystring: query({
      state: optional(words(superNodeStates, { description: 'Only those in this state.' })),
      limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'SuperNodes on a page.' }),
      cursor: cursorParameter,
      ...params,
    }),
    headers: readRequestHeaders,
    response: readAnswers('A page of SuperNodes.', superNodeRecords.ref, 400, 409, 410),
  };
  app.get('/v1/supernodes/records', { schema: listSchema }, async (request, reply) => {
    const { limit, cursor, state, at_height: named } = request.query;
    const walk = { list: 'supernode records', filters: { state, at_height: named } };
    const position = cursor === undefined ? undefined : cursors.open(walk, cursor);
    const { instant, check } = instantOfWalk(instantOf(request), position);
    return await read(reply, { ...scope, instant }, async (snapshot) => {
      check(snapshot);
      const height = heightOf(snapshot, named);
      const page = { height, state, after: position?.after, limit };
      const { rows, total, hasMore } = await answers.list(snapshot, page);
      const [last, pages] = [rows.at(-1), (position?.pages ?? 0) + 1];
      const sealed = hasMore && last && { after: last.id, pages, instant: snapshot.instant };
      return { height, supernodes: rows, total, ...(sealed ? { cursor: cursors.seal(walk, sealed) } : {}) };
    });
  });
  const schema = {
    tags,
    operationId: 'superNodeRecord',
    summary: 'One SuperNode as the chain lists it',
    description,
    params: Type.Object({ id: operatorAddress }),
    querystring: query(params),
    headers: readRequestHeaders,
    response: readAnswers('The SuperNode.', superNodeRecord.ref, 400, 404, 409, 410),
  };
  app.get('/v1/supernodes/:id/record', { schema }, async (request, reply) => {
    const { at_height: named } = request.query;
    return await read(reply, { ...scope, instant: recordInstantOf(request) }, async (snapshot) =>
      answers.one(snapshot, { id: request.params.id, height: heightOf(snapshot, named) }),
    );
  });
}

/** The height that is named, or the one up to which the list was read; 1 where it never was. */
const heightOf = ({ rounds }: ReadSnapshot, named: number | undefined): number =>
  named ?? rounds.find(({ source }) => source === 'supernodes')?.completed_height ?? 1;
