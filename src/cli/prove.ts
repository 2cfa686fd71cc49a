import { writeFile } from 'node:fs/promises';
import { isProven, streamTable, streams } from '../events/streams.ts';
import { createProvenLogs } from '../engine/archive/proof/serving.ts';
import { AppError } from '../kit/errors.ts';
import { configFromEnvironment } from '../config.ts';
import { print } from './output.ts';
import { withStores } from './stores.ts';

/** Options of `annals prove`; files lie in `out`, or in the current folder. */
type ProveOptions = Readonly<{ json: boolean; out?: string }>;

/**
 * `annals prove STREAM SEQUENCE`: writes an event of the running instance and the proof that its log has it, as
 * `annals verify` and any other verifier of C2SP tlog-proof takes them. Overwrites no file.
 *
 * An operator may prove an event of a private log as well.
 */
export async function prove(name: string, sequence: string, { json, out = '.' }: ProveOptions): Promise<void> {
  const proven = streams.filter((one) => isProven(streamTable[one]));
  const stream = proven.find((one) => one === name.toUpperCase());
  if (!stream)
    throw new AppError('INVALID_ARGUMENT', `There is no log of the name ${name}; there are ${proven.join(', ')}`);
  if (!/^[1-9]\d{0,15}$/.test(sequence))
    throw new AppError('INVALID_ARGUMENT', `${sequence} is no sequence: they count from 1`);
  await withStores(configFromEnvironment(), 'prove', async ({ pools, network }) => {
    const logs = createProvenLogs({ pools, network });
    const [checkpoint, event, proof] = await Promise.all([
      logs.checkpoint(stream),
      logs.event(stream, Number(sequence)),
      logs.proof(stream, Number(sequence)),
    ]);
    if (!checkpoint || !event || proof === undefined)
      throw new AppError('NOT_FOUND', `The last checkpoint of ${stream} has ${checkpoint?.size ?? 0} events`);
    if (!event.bytes) throw new AppError('GONE', `The bytes of event ${sequence} of ${stream} are not kept any more`);
    const files = { event: `${out}/${stream}-${sequence}.json`, proof: `${out}/${stream}-${sequence}.tlog-proof` };
    await writeNew(files.event, event.bytes);
    await writeNew(files.proof, proof);
    const { vkey } = checkpoint;
    const human = (): string =>
      `Wrote ${files.event} and ${files.proof}. Whoever has the key of the log checks them:\n  annals verify ${files.event} ${files.proof} --vkey ${vkey}`;
    print({ ...files, vkey }, { json, human });
  });
}

async function writeNew(file: string, content: Uint8Array | string): Promise<void> {
  await writeFile(file, content, { flag: 'wx' }).catch((cause: unknown) => {
    throw new AppError('CONFLICT', `${file} cannot be written, or is there already: name another folder with --out`, {
      cause,
    });
  });
}
