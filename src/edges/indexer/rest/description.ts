import type { ApiDescription } from '../../http/openapi.ts';
import { actionComponents } from './action-schemas.ts';
import { eventComponents } from '../provenance/event-schemas.ts';
import { recordComponents } from '../provenance/record-schemas.ts';
import { logComponents } from '../proof/log-schemas.ts';
import { superNodeComponents } from './supernode-schemas.ts';
import { syncComponents } from './sync.ts';
import { versionComponents } from './version-matrix.ts';
import { versionsComponents } from './versions.ts';
import { uptimeComponents } from '../uptime/uptime-schemas.ts';

/** The headers that callers from other origins may read. */
export const exposedHeaders = [
  'Annals-Position',
  'Annals-Lag-Ms',
  'Annals-Chain-Age-Ms',
  'Annals-As-Of',
  'Annals-Sequences',
  'Annals-Through',
  'Link',
  'ETag',
  'Memento-Datetime',
  'Preference-Applied',
  'Retry-After',
  'Allow',
];

/** The API in its OpenAPI document. */
export const apiDescription: Omit<ApiDescription, 'version'> = {
  title: 'Annals indexing API',
  description: [
    'Read-only index of a Cascade/Sense storage network: actions, SuperNodes and what probes find, as projections of an immutable log.',
    'Times are RFC 3339, UTC. Figures are null until first known, then the last known. Unknown parameters are ignored; one that does not parse is refused.',
    'Refusals are {error, code}; another method on a path is 405 METHOD_NOT_ALLOWED with the Allow header. Every GET is answered to HEAD too. Every GET has an `ETag`, and is 304 to an `If-None-Match` that names it. Cursors are opaque, bound to their filters, and walk each record once.',
  ].join(' '),
  tags: [
    { name: 'Actions', description: 'What was asked of the network, and how far it has come.' },
    { name: 'SuperNodes', description: 'Who does the work, and how they are.' },
    { name: 'Uptime', description: 'How much of the time they were available, day by day, and what the evidence is.' },
    { name: 'Provenance', description: 'Which events a record, a field, a transaction or another event comes from.' },
    { name: 'Logs', description: 'The facts behind every answer, to be checked without trusting this instance.' },
  ],
  components: [
    ...actionComponents,
    ...superNodeComponents,
    ...syncComponents,
    ...versionComponents,
    ...logComponents,
    ...eventComponents,
    ...recordComponents,
    ...versionsComponents,
    ...uptimeComponents,
  ],
  securitySchemes: {
    syncToken: { type: 'http', scheme: 'bearer', description: 'SYNC_TOKEN of the instance, where one is set.' },
  },
};
