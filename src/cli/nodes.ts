import { configFromEnvironment } from '../config.ts';
import type { NodeOverview } from '../edges/admin/local-nodes.ts';
import { AppError } from '../kit/errors.ts';
import { adminOf } from './admin-client.ts';
import { print, table } from './output.ts';

/** `annals nodes`: the SuperNodes of the local network with their peers, files, pieces and bans. */
export async function nodes({ json }: { json: boolean }): Promise<void> {
  const admin = await adminOf(configFromEnvironment());
  const { nodes: reported } = (await admin.get('/admin/v1/nodes')) as Readonly<{ nodes: readonly NodeOverview[] }>;
  if (reported.length === 0) throw new AppError('NOT_FOUND', 'No SuperNode runs here: start one with the role node');
  print({ nodes: reported }, { json, human: () => tableOf(reported) });
}

function tableOf(reported: readonly NodeOverview[]): string {
  return table(
    ['NODE', 'ADDRESS', 'PEERS', 'FILES', 'PIECES', 'BYTES', 'BANS'],
    reported.map(({ name, address, answers, peers, files, pieces, bytes, bans }) =>
      answers
        ? [name, address, peers.length, files, pieces, bytes, bans.join(', ') || '–']
        : [name, address, 'does not answer'],
    ),
  );
}
