import { afterAll, expect, it } from 'vitest';
import { createDataHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import type { RealNode } from '../../../src/edges/local-network/cast.ts';
import { randomOf } from '../../../src/edges/local-network/random.ts';
import {
  bytesOf,
  creator,
  pendingAction,
  piecesOf,
  upload as uploadToNode,
} from '../../edges/node/files-under-test.ts';
import { piecesIn, ports } from '../../edges/node/network-under-test.ts';
import { type BesiegedNetwork, besiegedNetwork, residentBytes, storageBytes } from './besieged-network.ts';
import { type Json, type Told, upload } from '../gateway/gateway-client.ts';

/** Everything that is left to chance follows from it. */
const chosen = process.env['HOSTILE_SEED'] ?? String(Math.floor(Math.random() * 1e9));
/** The chain's REST is stale for so many answers, and for so long. */
const stale = { answers: 40, ms: Number(process.env['HOSTILE_STALE_MS'] ?? 0) };
const uploads = Number(process.env['HOSTILE_UPLOADS'] ?? 4);
/** Buffers wait for the collector: of 100 MB that a process may hold, it may see a half more for a moment. */
const mostGrowth = 150 * 2 ** 20;

const undo = new AsyncDisposableStack();
afterAll(async () => await undo.disposeAsync());

/** `attempts` are those that followed another, or were the first; `hedges` those that ran beside a slow one. */
type Moved = Readonly<{
  action: string;
  pieces: readonly string[];
  file: Buffer;
  attempts: number;
  hedges: number;
  reasons: readonly unknown[];
  tookMs: number;
  /** Each state with its milliseconds since the first. */
  steps: readonly string[];
}>;

/** Uploads a file through the gateway, to the end of its task; `onTaken` runs once the gateway has it. */
async function move(
  { ledger, gateway }: BesiegedNetwork,
  file: Buffer,
  onTaken: (action: string) => void = () => undefined,
): Promise<Moved> {
  const hasher = await createDataHasher();
  hasher.update(file);
  const dataHash = hasher.digest();
  const action = await pendingAction(ledger, file);
  const url = gateway.instance.urls['gateway'] ?? '';
  const startMs = performance.now();
  const form = { action, signature: signText(creator.key, dataHash), dataHash, bytes: file };
  const answer = await upload(`${url}/api/v1/actions/cascade`, form);
  const body = (await answer.json()) as Json;
  expect([answer.status, body]).toEqual([202, expect.anything()]);
  onTaken(action);
  const history = await endedHistory(`${url}/api/v1/actions/cascade/tasks/${String(body['task_id'])}/history`);
  expect(history.at(-1)).toMatchObject({ status: 'sdk:completed' });
  const starts = history.filter(({ status }) => status === 'sdk:registration_attempt').map(({ data }) => data);
  const hedges = starts.filter((data) => 'message' in data).length;
  const attempts = starts.length - hedges;
  const reasons = starts.flatMap((data) => data['previous_error'] ?? []);
  const pieces = piecesOf(file);
  const tookMs = Math.round(performance.now() - startMs);
  return { action, pieces, file, attempts, hedges, reasons, tookMs, steps: stepsOf(history) };
}

/** The states of a history as people read them. */
function stepsOf(history: readonly Told[]): string[] {
  const startMs = Date.parse(history[0]?.created_at ?? '');
  return history.map(({ status, data, created_at: at }) => {
    const { iteration, supernode, previous_error: why } = data as Record<string, string | undefined>;
    const words = [Date.parse(at) - startMs, status.replace(/^\w+:/, ''), iteration, supernode, why];
    return words.filter((word) => word !== undefined).join(' ');
  });
}

/** The history of a task, once it has ended. */
async function endedHistory(url: string): Promise<readonly Told[]> {
  let history: readonly Told[] = [];
  const last = async (): Promise<unknown> => (history = (await (await fetch(url)).json()) as Told[]).at(-1)?.status;
  await expect.poll(last, { timeout: 150_000, interval: 100 }).toMatch(/^sdk:(completed|failed)$/);
  return history;
}

/** The most resident memory of processes, beyond what they have now. */
async function growthOf(pids: Readonly<Record<string, number>>) {
  const names = Object.keys(pids);
  const read = async (name: string): Promise<number> => await residentBytes(pids[name] ?? 0);
  const before = new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
  const most = new Map(before);
  const note = async (): Promise<void> => {
    for (const name of names) most.set(name, Math.max(most.get(name) ?? 0, await read(name)));
  };
  const timer = setInterval(() => void note().catch(() => undefined), 200);
  undo.defer(() => clearInterval(timer));
  return async () => {
    await note();
    clearInterval(timer);
    return Object.fromEntries(names.map((name) => [name, (most.get(name) ?? 0) - (before.get(name) ?? 0)]));
  };
}

type Outcome = Readonly<{
  undisturbed: readonly Moved[];
  moved: readonly Moved[];
  staleAt: number;
  grown: Readonly<Record<string, number>>;
}>;

/** Prints the seed and the figures; durations are no assertions, a busy machine makes any of them. */
function report({ undisturbed, moved, staleAt, grown }: Outcome): void {
  const tookMs = (some: readonly Moved[]): number[] => some.map((one) => one.tookMs);
  const twice = (2 * tookMs(undisturbed).reduce((sum, ms) => sum + ms, 0)) / undisturbed.length;
  const parts = [
    `seed ${chosen}`,
    `undisturbed ${tookMs(undisturbed).join(', ')} ms`,
    `besieged ${tookMs(moved).join(', ')} ms (the chain is stale at number ${staleAt + 1})`,
    `${moved.filter((one) => one.tookMs <= twice).length} of ${moved.length} within twice that time`,
    `at most ${(Math.max(...tookMs(moved)) / (twice / 2)).toFixed(1)} times as long`,
    `attempts ${moved.map(({ attempts, hedges }) => `${attempts}+${hedges}`).join(', ')}`,
    `growth in MiB ${Object.values(grown)
      .map((bytes) => Math.round(bytes / 2 ** 20))
      .join(', ')}`,
  ];
  console.log(`hostile network: ${parts.join('; ')}`);
  for (const { steps } of process.env['HOSTILE_STEPS'] === undefined ? [] : [...undisturbed, ...moved])
    console.log(`hostile network, steps: ${steps.join(', ')}`);
}

it(
  'every upload completes and stays whole on two honest nodes while three of ten, 200 strangers and the chain’s REST misbehave',
  { tags: ['S1.hostile.network'] },
  async () => {
    const random = randomOf(chosen);
    const network = await besiegedNetwork(undo, random);
    const fileOf = (letter: string): Buffer => {
      const file = bytesOf(letter, random.between(8_000_000, 12_000_000));
      file.write(chosen);
      return file;
    };
    const { hosts: processes, gateway, nodes } = network;
    // A process that has taken no file yet grows by what any file takes, and compiles its code beside nine others.
    for (const [index, { host }] of nodes.slice(3).entries()) {
      const file = bytesOf(String(index), 2_000_000);
      await uploadToNode(`${host}:${ports.grpc}`, await pendingAction(network.ledger, file), file);
    }
    const first = await move(network, fileOf('w'));
    const undisturbed = [first];
    for (const letter of ['x', 'y']) undisturbed.push(await move(network, fileOf(letter)));
    expect(undisturbed.map(({ attempts, hedges }) => [attempts, hedges])).toEqual(undisturbed.map(() => [1, 0]));

    const readiness: unknown = await (await fetch(`${gateway.base}/readyz`)).json();
    expect(readiness).toMatchObject({ ready: false, reasons: [{ component: 'projections' }] });
    const named = processes.map(({ pid }, index) => [index === 0 ? 'turned' : `node ${index}`, pid ?? 0] as const);
    const growth = await growthOf({ ...Object.fromEntries(named), gateway: gateway.pid });
    const [liar, staller, rotter, ...honest] = nodes as [RealNode, RealNode, RealNode, ...RealNode[]];
    await network.turn(liar, 'lie');
    await network.turn(staller, 'stall');
    await network.turn(rotter, 'rot');
    await network.hostile({
      do: 'besiege',
      gatewayPort: Number(new URL(gateway.instance.urls['gateway'] ?? '').port),
      honest: honest.map(({ host }) => host),
      known: first.action,
      seed: chosen,
    });
    // What is timed is the siege and not its first blow, which meets code that ten nodes compile on one machine.
    await network.hostile({ do: 'attack', honest, actionId: first.action, size: first.file.length });

    const moved: Moved[] = [];
    const staleAt = random.between(0, uploads - 1);
    let isStaleOver: Promise<void> | undefined;
    for (let index = 0; index < uploads; index += 1) {
      const file = fileOf(String.fromCodePoint('a'.codePointAt(0) ?? 0) + index);
      const attacked: Promise<void>[] = [];
      const onTaken = (action: string): void => {
        if (index === staleAt) isStaleOver = network.chain.fallBehind(stale);
        attacked.push(network.hostile({ do: 'attack', honest, actionId: action, size: file.length }));
      };
      moved.push(await move(network, file, onTaken));
      await Promise.all(attacked);
      for (const { state } of (await Promise.all(processes.map(async ({ observe }) => await observe()))).flat())
        expect(state?.storedBytes).toBeLessThanOrEqual(storageBytes);
      // The rotting one goes away in the midst of it all.
      if (index === 1) await network.hostile({ do: 'vanish', manner: 'rot' });
    }
    await isStaleOver;

    const grown = await growth();
    report({ undisturbed, moved, staleAt, grown });
    for (const { action, pieces } of moved) {
      const held = await Promise.all(honest.map(async (node) => await piecesIn(network.storageFolder(node))));
      const complete = held.filter((names) => pieces.every((hash) => names.includes(hash)));
      expect([action, complete.length]).toEqual([action, expect.toSatisfy((count: number) => count >= 2)]);
    }
    // Each hostile node costs one attempt: after that it comes last. None is waited for until its silence ends it.
    const attempts = moved.reduce((sum, one) => sum + one.attempts, 0);
    // A gateway that a busy machine keeps from announcing itself starts a task anew.
    expect(attempts).toBeLessThanOrEqual(uploads + 6);
    expect(moved.flatMap(({ reasons }) => reasons)).not.toContain('nothing moved for too long');
    for (const bytes of Object.values(grown)) expect(bytes).toBeLessThanOrEqual(mostGrowth);
  },
);
