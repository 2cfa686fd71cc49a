import { setTimeout as pause } from 'node:timers/promises';
import { StorageType, type StreamInfo } from '@nats-io/jetstream';
import { streams } from '../../events/streams.ts';
import { damagedMeta, type Sums } from '../servers/nats/stream-files.ts';
import type { Logger } from '../kit/logger.ts';
import { streamName } from '../log/streams.ts';
import type { BothStores } from './archiver.ts';
import { managerOf } from './raw.ts';

/** The streams of a broker, and how closely their files are watched; `folder` holds one for each, where they are ours. */
export type StreamGuard = BothStores &
  Readonly<{ folder: string | undefined; log: Logger; scrubIntervalMs: number; signal: AbortSignal }>;

/** However seldom all events are compared, what was deleted or changed on disk is found sooner. */
export const filesEachMs = 15_000;
const lookAgainMs = 500;

/**
 * Watches the files that describe the streams until the signal ends it, and has the broker write them anew where they are damaged:
 * it reads them only when it starts, and would then not know the stream any more. Never fails.
 */
export async function guardStreams({ folder, ...guard }: StreamGuard): Promise<void> {
  const { log, scrubIntervalMs, signal } = guard;
  const sums: Sums = new Map();
  while (folder !== undefined && !signal.aborted) {
    await look(guard, folder, sums).catch((err: unknown) => log.debug({ err }, 'the broker does not answer'));
    await pause(Math.min(scrubIntervalMs, filesEachMs), undefined, { signal }).catch(() => undefined);
  }
}

async function look({ log, ...guard }: Omit<StreamGuard, 'folder'>, folder: string, sums: Sums): Promise<void> {
  const manager = await managerOf(guard.nc);
  for await (const info of manager.streams.list()) {
    const { name } = info.config;
    if (info.config.storage !== StorageType.File || (await damagedMeta(folder, info, sums)) === undefined) continue;
    // It may just have been changed.
    await pause(lookAgainMs, undefined, { signal: guard.signal });
    const now = await manager.streams.info(name);
    const damage = await damagedMeta(folder, now, sums);
    if (damage === undefined) continue;
    log.error({ damage }, 'damage found in a store');
    await manager.streams.update(name, now.config);
    sums.delete(name);
    const stillWrong = await damagedMeta(folder, await manager.streams.info(name), sums);
    if (stillWrong !== undefined) throw new Error(stillWrong);
    await record(guard, now, damage);
    log.warn({ stream: name, findings: [damage] }, 'a store was mended');
  }
}

async function record(
  { store, network }: Pick<StreamGuard, 'store' | 'network'>,
  { config }: StreamInfo,
  damage: string,
): Promise<void> {
  const stream = streams.find((one) => streamName(one, network) === config.name);
  if (stream) await store.recordMending(stream, [damage, 'The broker wrote it anew.']);
}
