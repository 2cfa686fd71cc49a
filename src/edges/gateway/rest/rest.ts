import type { FastifyInstance } from 'fastify';
import { createApp } from '../../http/app.ts';
import type { App } from '../../http/schema.ts';
import { createDownloadRequests } from '../intake/download-requests.ts';
import { createIntake } from '../intake/intake.ts';
import { multipartPlugin } from '../intake/receive.ts';
import { registerPages } from '../pages/pages.ts';
import { boundIntake, boundStreams, connectionBounds } from './bounds.ts';
import type { GatewayDependencies } from './dependencies.ts';
import { downloadRoutes } from './downloads.ts';
import { fileRoutes } from './file.ts';
import { statusEventSchema, taskDetail, taskList, taskReference } from './schemas.ts';
import { taskRoutes } from './tasks.ts';
import { resumableRoutes } from './resumable.ts';
import { uploadRoutes } from './uploads.ts';

const bodyBytes = 64 * 1024;
const current = '/api/v1';
const legacy = '/api';

/** What scripts of other origins may read of an answer. */
const exposedHeaders = [
  'ETag',
  'Content-Range',
  'Content-Disposition',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Location',
  'Upload-Offset',
  'Upload-Complete',
  'Upload-Length',
  'Upload-Limit',
];
const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/** The transfer gateway (spec 3) over what is passed in; `listen` starts it, `close` ends it with its streams. */
export function createGateway(dependencies: GatewayDependencies): FastifyInstance {
  const { pageUser, explorerUrl = () => null, logger, observed, settings, version } = dependencies;
  const app = createApp({
    logger,
    network: settings.network,
    observed,
    bodyBytes,
    connections: connectionBounds(settings),
    trustedProxies: settings.trustedProxies,
    description: {
      title: 'Annals transfer gateway',
      version,
      description: 'Moves the bytes of Cascade files between people and SuperNodes, with progress that cannot be lost.',
      tags: [
        { name: 'Uploads', description: 'Files of registered actions on their way to SuperNodes.' },
        { name: 'Downloads', description: 'Stored files on their way back.' },
      ],
      components: [taskReference, statusEventSchema, taskDetail, taskList],
    },
    cors: { origins: settings.corsAllowOrigins, exposedHeaders, methods },
    routes: async (routes, addOperations) => {
      await routes.register(async (api) => await addApi(api, dependencies));
      addOperations(routes);
      await registerPages(routes, { user: pageUser, explorerUrl });
    },
  });
  boundIntake(app, dependencies);
  return app;
}

/** The routes of spec 3 under both of their prefixes, which share what they bound and what they join. */
async function addApi(api: App, dependencies: GatewayDependencies): Promise<void> {
  await api.register(multipartPlugin);
  const streams = boundStreams(api, dependencies);
  const intake = createIntake(dependencies);
  const requestDownload = createDownloadRequests(dependencies);
  const addRoutes = (app: App, prefix: string): void => {
    uploadRoutes(app, prefix, intake);
    taskRoutes(app, prefix, { ...dependencies, streams });
    downloadRoutes(app, prefix, requestDownload);
    fileRoutes(app, prefix, dependencies);
  };
  addRoutes(api, current);
  await api.register(async (inner) => resumableRoutes(inner, `${current}/uploads`, intake));
  await api.register(async (inner) => {
    inner.addHook('onRequest', async (request, reply) => {
      const successor = request.url.replace(legacy, current);
      reply.headers({ deprecation: 'true', link: `<${successor}>; rel="successor-version"` });
    });
    addRoutes(inner, legacy);
  });
}
