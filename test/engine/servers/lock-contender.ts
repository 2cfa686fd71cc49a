import { type DirLock, lockDir } from '../../../src/engine/servers/lock.ts';

/** Tries to own each folder that it is told of, says what came of it, and holds it until it is told of the next one. */
let held: DirLock | undefined;
process.on('message', (dir: string) => {
  const before = held;
  held = undefined;
  void (async () => {
    await before?.release();
    try {
      held = await lockDir(dir);
      process.send?.('owner');
    } catch {
      process.send?.('refused');
    }
  })();
});
