import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { actionComponents } from '../indexer/rest/action-schemas.ts';
import { operationComponents } from './operations/operation-schemas.ts';
import { type Component, sharedComponents } from './schema.ts';
import { superNodeComponents } from '../indexer/rest/supernode-schemas.ts';
import { syncComponents } from '../indexer/rest/sync.ts';
import { versionComponents } from '../indexer/rest/version-matrix.ts';

const components: readonly Component[] = [
  ...sharedComponents,
  ...actionComponents,
  ...superNodeComponents,
  ...syncComponents,
  ...versionComponents,
  ...operationComponents,
];

const description = [
  'Read-only index of a Cascade/Sense storage network: actions, SuperNodes and what probes find, as projections of an immutable log.',
  'Times are RFC 3339, UTC. Figures are null until first known, then the last known. Unknown parameters are ignored; one that does not parse is refused.',
  'Refusals are {error, code}; another method on a path is 405 METHOD_NOT_ALLOWED with the Allow header. Every GET is answered to HEAD too. Cursors are opaque, bound to their filters, and walk each record once.',
].join(' ');

/** Makes the OpenAPI 3.0 document from the schemas of the routes that are added after this. */
export function describeApi(app: Pick<FastifyInstance, 'register' | 'addSchema'>, version: string): void {
  void app.register(swagger, {
    openapi: {
      openapi: '3.0.3',
      info: {
        title: 'Annals indexing API',
        version,
        description,
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: '/', description: 'This instance.' }],
      tags: [
        { name: 'Actions', description: 'What was asked of the network, and how far it has come.' },
        { name: 'SuperNodes', description: 'Who does the work, and how they are.' },
        { name: 'Operations', description: 'How this instance is.' },
      ],
      components: {
        securitySchemes: {
          syncToken: { type: 'http', scheme: 'bearer', description: 'SYNC_TOKEN of the instance, where one is set.' },
        },
      },
    },
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, index) => (typeof $id === 'string' ? $id : `schema${index}`),
    },
    exposeHeadRoutes: false,
  });
  for (const { schema } of components) app.addSchema(schema);
}
