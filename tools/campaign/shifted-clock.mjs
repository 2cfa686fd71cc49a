/**
 * Preloaded into a program (`node --import`): its clock shows the machine's time and as many milliseconds as the file
 * `SHIFTED_CLOCK` says at that moment. Timers go on as before, as on a machine whose clock is set.
 */
import { readFileSync } from 'node:fs';

const file = process.env.SHIFTED_CLOCK;
const lookEachMs = 50;
let shiftMs = 0;

function look() {
  try {
    shiftMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    shiftMs = 0;
  }
}
look();
setInterval(look, lookEachMs).unref();

const RealDate = Date;
const now = () => RealDate.now() + shiftMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
