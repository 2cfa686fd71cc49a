import { AppError } from '../../../kit/errors.ts';
import { type App, errors } from '../../http/schema.ts';
import { rawAnswer } from '../proof/log-schemas.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';

const cacheControl = 'no-cache';

/** The key by which anybody can tell that a delivery to a webhook came from this network. */
export function webhookKeyRoute(app: App, { webhookKey }: Pick<RouteDependencies, 'webhookKey'>): void {
  const schema = {
    tags: ['Logs'],
    operationId: 'webhook_key',
    summary: 'The public key of deliveries to webhooks',
    description: 'Their signatures `v1a` are made by it: Ed25519, as Standard Webhooks writes it (`whpk_` and base64).',
    response: { 200: rawAnswer('The key.', 'text/plain', cacheControl), ...errors(404) },
  };
  app.get('/webhooks.pub', { schema }, async (_request, reply) => {
    const key = await webhookKey();
    if (key === undefined) throw new AppError('NOT_FOUND', 'Nothing was made to sign webhooks by yet.');
    await reply
      .headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': cacheControl })
      .send(`${key}\n`);
  });
}
