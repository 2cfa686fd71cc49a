import { expect, onTestFinished, test } from 'vitest';
import { liveEvents } from '../../../src/engine/log/broker.ts';
import { cause, connected, decision, freshLog, probeOf } from './fresh-log.ts';

test('what a listener throws ends nothing but what it was about: the connection goes on', async () => {
  const { log, nc, network } = await freshLog();
  const outside = await connected();
  const replies: string[] = [];
  outside.subscribe(`evt.probe.${network}.>`, { callback: (_, { reply }) => void (reply && replies.push(reply)) });
  await outside.flush();
  const heard: string[] = [];
  const warned: string[] = [];
  const onWarning = ({ message }: Error): void => void warned.push(message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const stops = [
    liveEvents(nc, network, () => {
      throw new Error('a listener of live events fails');
    }),
    liveEvents(nc, network, (json) => heard.push(json)),
    log.watch(['probe'], () => {
      throw new Error('a watcher fails');
    }),
  ];
  await log.append([decision(0, probeOf('n', 1))], cause);
  await expect.poll(() => heard.length).toBe(1);
  await expect.poll(() => replies.length).toBeGreaterThan(0);
  const [reply = ''] = replies;
  outside.publish(reply, 'no JSON');
  await outside.flush();
  await log.append([decision(1, probeOf('n', 2))], cause);
  await expect.poll(() => heard.length).toBe(2);
  // A watch reports what comes once it is open, which no caller is told.
  let last = 2;
  await expect
    .poll(async () => {
      await log.append([decision(last, probeOf('n', last + 1))], cause);
      last += 1;
      return warned;
    })
    .toEqual(expect.arrayContaining(['a listener of live events fails', 'a watcher fails']));
  stops.forEach((stop) => stop());
});
