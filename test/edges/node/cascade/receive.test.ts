import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create } from '@bufbuild/protobuf';
import { expect, it, onTestFinished } from 'vitest';
import { type RegisterRequest, RegisterRequestSchema } from '../../../../src/edges/gen/cascade/service_pb.ts';
import { receive } from '../../../../src/edges/node/cascade/receive.ts';
import { openStorage } from '../../../../src/edges/node/storage/storage.ts';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const messages = 200;

it('the messages of a Register are released as they are written, not when the last has come', async () => {
  const { folder, remove } = freshFolder();
  onTestFinished(remove);
  const draft = await (await openStorage({ folder, bound: -1 })).receive();
  onTestFinished(() => draft.discard());
  const sent: WeakRef<RegisterRequest>[] = [];
  let alive = 0;
  async function* upload(): AsyncGenerator<RegisterRequest> {
    for (let n = 0; n < messages; n += 1) {
      const request = create(RegisterRequestSchema, {
        requestType: { case: 'chunk', value: { data: new Uint8Array(10_000).fill(n) } },
      });
      sent.push(new WeakRef(request));
      yield request;
    }
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    alive = sent.filter((one) => one.deref() !== undefined).length;
    yield create(RegisterRequestSchema, {
      requestType: { case: 'metadata', value: { actionId: '7', taskId: 'a task' } },
    });
  }
  expect(await receive(upload(), draft, 2 ** 30)).toBe('7');
  expect(alive).toBeLessThan(messages / 10);
});
