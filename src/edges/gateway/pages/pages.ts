import { createRequire } from 'node:module';
import path from 'node:path';
import { Type } from 'typebox';
import { serveDocs, serveFiles } from '../../http/pages/pages.ts';
import type { Registrable } from '../../chain/files/register-action.ts';
import type { App } from '../../http/schema.ts';

const folder = path.join(import.meta.dirname, 'public');

/** BLAKE3 for the browser, and what it imports. */
const hashing = ['blake3', 'blake2', '_blake', '_md', '_u64', 'utils'];
const hashFolder = path.dirname(createRequire(import.meta.url).resolve('@noble/hashes/blake3.js'));

/**
 * The user of the local network's page: registers and signs as one of the development accounts, whose keys are public.
 * There is no such user on any other network.
 */
export type PageUser = Readonly<{
  /** Registers a file that waits for its bytes then; `signature` uploads it. */
  prepare: (file: Registrable) => Promise<Readonly<{ actionId: string; creator: string; signature: string }>>;
  /** Over the id of an action: what fetches a private file of this user's. */
  sign: (actionId: string) => string;
}>;

/**
 * Serves `/transfers`, where files are stored and fetched in a browser, `/docs`, and what they load.
 *
 * With a user of its own the page registers and signs; elsewhere its form requests the action and the signature.
 * `explorerUrl` is where the actions are shown, or null where that is not known.
 */
export async function registerPages(
  app: App,
  { user, explorerUrl }: Readonly<{ user: PageUser | undefined; explorerUrl: () => string | null }>,
): Promise<void> {
  await serveDocs(app, { page: '/docs', document: '/openapi.json' });
  await serveFiles(app, {
    '/transfers': path.join(folder, 'transfers.html'),
    '/assets/transfers.css': path.join(folder, 'transfers.css'),
    '/assets/transfers.js': path.join(folder, 'transfers.js'),
    '/assets/task.js': path.join(folder, 'task.js'),
    ...Object.fromEntries(
      hashing.map((name) => [`/assets/hashes/${name}.js`, path.join(hashFolder, `${name}.js`)] as const),
    ),
  });
  const hide = true;
  app.get('/', { schema: { hide } }, async (_request, reply) => reply.redirect('/transfers'));
  app.get('/transfers/about.json', { schema: { hide } }, async () => ({
    is_local: user !== undefined,
    explorer_url: explorerUrl(),
  }));
  if (user !== undefined) userRoutes(app, user);
}

const registration = Type.Object({
  data_hash: Type.String({ minLength: 44, maxLength: 44, pattern: '^[A-Za-z0-9+/]{43}=$' }),
  file_name: Type.String({ minLength: 1, maxLength: 255 }),
  size: Type.Integer({ minimum: 0, maximum: 2 ** 30 }),
  public: Type.Boolean(),
});

function userRoutes(app: App, user: PageUser): void {
  const hide = true;
  app.post('/transfers/registrations', { schema: { hide, body: registration } }, async ({ body }, reply) => {
    const { data_hash: dataHash, file_name: fileName, size, public: isPublic } = body;
    const { actionId, creator, signature } = await user.prepare({ dataHash, fileName, size, isPublic });
    return await reply.code(201).send({ action_id: actionId, creator, signature });
  });
  const action = Type.Object({ action_id: Type.String({ pattern: '^[0-9]{1,15}$' }) });
  app.post('/transfers/signatures', { schema: { hide, body: action } }, async ({ body }) => ({
    signature: user.sign(body.action_id),
  }));
}
