import semver from 'semver';
import { type Static, Type } from 'typebox';
import type { VersionInUse } from '../../../projections/fleet/fleet-stats.ts';
import { VersionsInUse } from '../../../projections/fleet/queries.ts';
import { asOf, instantOf } from './as-of.ts';
import type { RouteDependencies } from './dependencies.ts';
import { minHeight } from '../freshness/freshness.ts';
import { type App, component, nullable, query, readAnswers, readRequestHeaders } from '../../http/schema.ts';

const matrix = component(
  'VersionMatrix',
  Type.Object({
    matrix: Type.Array(
      Type.Object({
        node_version: Type.String({ description: 'As a SuperNode reports it.' }),
        compatible_versions: Type.Array(Type.String(), {
          description: 'Those of the same major number that are not deprecated, itself included.',
        }),
        deprecated: Type.Boolean({ description: 'Below the oldest version that the chain allows.' }),
      }),
      { description: 'One entry per version in use, the newest first, what is no version last.' },
    ),
    current_recommended: nullable(
      Type.String({
        description: 'Of the network, else the highest that an available node reports; null where none does.',
      }),
    ),
  }),
);

/** All components of this route. */
export const versionComponents = [matrix];

const scope = { projections: ['supernodes', 'availability', 'rounds'], sources: ['supernodes'] } as const;

/** `/v1/version/matrix`. */
export function versionRoutes(app: App, { read, settings }: RouteDependencies): void {
  const schema = {
    tags: ['SuperNodes'],
    operationId: 'versionMatrix',
    summary: 'Which SuperNode versions fit together',
    querystring: query({ as_of: asOf, min_height: minHeight }),
    headers: readRequestHeaders,
    response: readAnswers('Every version in use.', matrix.ref, 400, 410),
  };
  app.get('/v1/version/matrix', { schema }, async (request, reply) => {
    return await read(reply, { ...scope, instant: instantOf(request) }, async ({ ask, rounds }) => {
      const minimum = rounds.find(({ source }) => source === 'supernodes')?.minimum_version ?? null;
      return matrixOf(await ask(new VersionsInUse({})), {
        minimum,
        recommended: settings.profile.recommendedVersion,
      });
    });
  });
}

/** The matrix of the versions in use; `minimum` is the oldest that the chain allows. */
export function matrixOf(
  inUse: readonly VersionInUse[],
  { minimum, recommended }: { minimum: string | null; recommended?: string | undefined },
): Static<typeof matrix.schema> {
  const versions = [...new Set(inUse.map(({ version }) => version))].toSorted(newestFirst);
  const isDeprecated = (version: string): boolean => {
    const [own, oldest] = [parse(version), minimum === null ? null : parse(minimum)];
    return own !== null && oldest !== null && semver.lt(own, oldest);
  };
  const fits = (version: string, other: string): boolean =>
    other === version || (isSameMajor(version, other) && !isDeprecated(other));
  const entries = versions.map((version) => ({
    node_version: version,
    compatible_versions: versions.filter((other) => fits(version, other)),
    deprecated: isDeprecated(version),
  }));
  const running = new Set(inUse.filter(({ available }) => available).map(({ version }) => version));
  const highest = versions.find((version) => running.has(version) && parse(version) !== null) ?? null;
  return { matrix: entries, current_recommended: recommended ?? highest };
}

function isSameMajor(one: string, other: string): boolean {
  const [a, b] = [parse(one), parse(other)];
  return a !== null && b !== null && a.major === b.major;
}

/** Equal versions written differently, and what is no version, follow the bytes. */
function newestFirst(one: string, other: string): number {
  const [a, b] = [parse(one), parse(other)];
  if (a && b) return semver.rcompare(a, b) || compare(one, other);
  return a ? -1 : b ? 1 : compare(one, other);
}

const parse = (text: string): semver.SemVer | null => semver.parse(text, { loose: true });
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
