import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { VersionsOfRecord } from '../../../projections/versions.ts';
import { type App, component, nullable, query, readAnswers, readRequestHeaders } from '../../http/schema.ts';
import { asOf, instantOf } from './as-of.ts';
import type { RouteDependencies } from './dependencies.ts';
import { minHeight } from '../freshness/freshness.ts';
import { records } from './records.ts';

const version = component(
  'Version',
  Type.Object({
    as_of: Type.String({ description: 'Position of the event that made it, which `as_of` takes.' }),
    until: nullable(
      Type.String({ description: 'Position of the event that replaced or removed it; null while it is the last one.' }),
    ),
    url: Type.String({ description: 'The record as of this version.' }),
  }),
);

const versions = component(
  'Versions',
  Type.Object({
    id: Type.String({ description: 'Id of the record.' }),
    total: Type.Integer({ description: 'Versions of all; one for each event of the record.' }),
    versions: Type.Array(version.ref, { description: 'The newest first.' }),
  }),
);

/** All components of these routes. */
export const versionsComponents = [version, versions];

const mostShown = 1000;

/** `/v1/actions/{id}/versions` and `/v1/supernodes/{id}/versions`: what a record ever was, and as of when. */
export function versionsRoutes(app: App, { read }: RouteDependencies): void {
  for (const { of, stream, tag, detail, isId } of records) {
    const schema = {
      tags: [tag],
      operationId: `${of}Versions`,
      summary: 'All versions of a record, each with its instant',
      description: `One for each event of it; the newest ${mostShown} are shown.`,
      params: Type.Object({ id: Type.String({ description: 'Id of the record.' }) }),
      querystring: query({ as_of: asOf, min_height: minHeight }),
      headers: readRequestHeaders,
      response: readAnswers('The versions.', versions.ref, 400, 404),
    };
    app.get(`/v1/${of}/:id/versions`, { schema }, async (request, reply) => {
      const { id } = request.params;
      const scope = { projections: [of], sources: [of], instant: instantOf(request) };
      return await read(reply, scope, async ({ ask }) => {
        const match = isId(id) ? await ask(new VersionsOfRecord({ of, id, limit: mostShown })) : undefined;
        if (!match || match.total === 0) throw new AppError('NOT_FOUND', 'There is no record of this id.');
        return {
          id,
          total: match.total,
          versions: match.versions.map(({ from, until }) => ({
            as_of: `${stream}:${from}`,
            until: until === null ? null : `${stream}:${until}`,
            url: `/v1/${of}/${encodeURIComponent(id)}${detail}?as_of=${stream}:${from}`,
          })),
        };
      });
    });
  }
}
