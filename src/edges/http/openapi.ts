import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { operationComponents, operationTag } from './operations/operation-schemas.ts';
import { type Component, sharedComponents } from './schema.ts';

type Document = NonNullable<FastifyDynamicSwaggerOptions['openapi']>;

/** An app's metadata for its OpenAPI document; `components` are those of its own routes. */
export type ApiDescription = Readonly<{
  title: string;
  version: string;
  description: string;
  tags?: readonly Readonly<{ name: string; description: string }>[];
  components?: readonly Component[];
  securitySchemes?: NonNullable<Document['components']>['securitySchemes'];
}>;

/**
 * Makes the OpenAPI 3.0 document of an app from the schemas of the routes that are added after this, operations among
 * them.
 */
export function describeApi(
  app: Pick<FastifyInstance, 'register' | 'addSchema'>,
  { title, version, description, tags = [], components = [], securitySchemes }: ApiDescription,
): void {
  void app.register(swagger, {
    openapi: {
      openapi: '3.0.3',
      info: {
        title,
        version,
        description,
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: '/', description: 'This instance.' }],
      tags: [...tags, operationTag],
      components: securitySchemes ? { securitySchemes } : {},
    },
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, index) => (typeof $id === 'string' ? $id : `schema${index}`),
    },
    exposeHeadRoutes: false,
  });
  for (const { schema } of [...sharedComponents, ...components, ...operationComponents]) app.addSchema(schema);
}
