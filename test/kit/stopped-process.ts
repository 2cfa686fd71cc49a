import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { stopSignal } from '../../src/kit/shutdown.ts';

/** A process that takes its argument in milliseconds to stop. */
const signal = stopSignal(pino({ level: 'silent' }));
const running = setInterval(() => undefined, 1000);
console.log('runs');
await once(signal, 'abort');
console.log('stopping');
await pause(Number(process.argv[2]));
clearInterval(running);
console.log('stopped');
