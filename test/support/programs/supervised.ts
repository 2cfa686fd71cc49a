import { connect } from 'node:net';
import pg from 'pg';
import { until } from '../polling.ts';
import { type Program, runProgram, type RunOptions } from './run-program.ts';
import { steadyPort } from './steady-port.ts';

/** What can be killed of a running program. */
export const victims = ['service', 'nats', 'postgres'] as const;
export type Victim = (typeof victims)[number];

/** A program that is started again, on the same folder and ports, whenever it is killed. */
export type Supervised = Readonly<{
  program: () => Program;
  /**
   * Ends a process as `kill -9` does, and waits until it runs again.
   *
   * Gives back what `/readyz` answered while the store was down for sure.
   */
  kill: (victim: Victim) => Promise<number[]>;
  /** Ends the service as `kill -9` does, does something while it is down, and starts it again. */
  restart: (whileDown: () => Promise<void>) => Promise<void>;
  /** How often a start had to be repeated, because what an earlier one had left behind was still in the way. */
  repeatedStarts: () => number;
}>;

/** Starts a program as an operator's supervisor would; whoever calls it stops the program and removes its folder. */
export async function supervise(options: RunOptions): Promise<Supervised> {
  const onPorts = { ...options, env: { ...options.env, ...(await portsOfServers()) } };
  let program = await runProgram(onPorts);
  let repeated = 0;
  const startAgain = async (): Promise<Program> => {
    for (;;) {
      const started = await runProgram(onPorts).catch((caught: unknown) => {
        repeated += 1;
        if (repeated > 20) throw caught;
      });
      if (started) return started;
    }
  };
  const killServer = async (server: 'nats' | 'postgres'): Promise<number[]> => {
    const before = program.servers()[server];
    const open = server === 'postgres' ? await openConnection(program) : undefined;
    process.kill(before, 'SIGKILL');
    await open?.lost;
    const answers = await readinessWhile(() => isDown[server](program), program);
    await until(`${server} runs again`, () => ![0, before].includes(program.servers()[server]));
    return answers;
  };
  const restart = async (whileDown: () => Promise<void>): Promise<void> => {
    await program.kill();
    await whileDown();
    program = await startAgain();
  };
  return {
    program: () => program,
    restart,
    kill: async (victim) => {
      if (victim !== 'service') return killServer(victim);
      await restart(async () => undefined);
      return [];
    },
    repeatedStarts: () => repeated,
  };
}

async function portsOfServers(): Promise<Record<string, string>> {
  const port = async (): Promise<string> => String(await steadyPort());
  return { PORT: await port(), NATS_PORT: await port(), NATS_WS_PORT: await port() };
}

/** A connection of our own, which tells when the processes of a killed server have noticed. */
async function openConnection({ instance }: Program): Promise<{ lost: Promise<void> }> {
  const client = new pg.Client(instance.postgres);
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  client.on('error', () => resolve());
  client.on('end', () => resolve());
  await client.connect();
  return { lost };
}

/** What is answered to requests that begin and end while the store is down. */
async function readinessWhile(isStillDown: () => Promise<boolean>, { base }: Program): Promise<number[]> {
  const answers: number[] = [];
  while (await isStillDown()) {
    const { status } = await fetch(`${base}/readyz`);
    if (await isStillDown()) answers.push(status);
  }
  return answers;
}

const isDown = {
  postgres: async ({ instance }: Program): Promise<boolean> => {
    const client = new pg.Client(instance.postgres);
    client.on('error', () => undefined);
    try {
      await client.connect();
      return false;
    } catch {
      return true;
    } finally {
      await client.end().catch(() => undefined);
    }
  },
  nats: async ({ instance }: Program): Promise<boolean> => {
    const { hostname, port } = new URL(instance.nats.url);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = connect(Number(port), hostname);
    socket.once('connect', () => resolve(false));
    socket.once('error', () => resolve(true));
    return promise.finally(() => socket.destroy());
  },
} as const;
