import { writeFile } from 'node:fs/promises';
import { configFromEnvironment } from '../config.ts';
import { AppError } from '../kit/errors.ts';
import { adminOf } from './admin-client.ts';
import { print } from './output.ts';

/** Options of `annals prove`; files lie in `out`, or in the current folder. */
type ProveOptions = Readonly<{ json: boolean; out?: string }>;

/**
 * `annals prove STREAM SEQUENCE`: writes an event of the running instance and the proof that its log has it, as
 * `annals verify` and any other verifier of C2SP tlog-proof takes them. Overwrites no file.
 *
 * An operator may prove an event of a private log as well.
 */
export async function prove(name: string, wanted: string, { json, out = '.' }: ProveOptions): Promise<void> {
  const admin = await adminOf(configFromEnvironment());
  const { stream, sequence, vkey, event, proof } = (await admin.get(
    `/admin/v1/logs/${encodeURIComponent(name)}/proofs/${encodeURIComponent(wanted)}`,
  )) as Readonly<Record<'stream' | 'sequence' | 'vkey' | 'event' | 'proof', string>>;
  const files = { event: `${out}/${stream}-${sequence}.json`, proof: `${out}/${stream}-${sequence}.tlog-proof` };
  await writeNew(files.event, Buffer.from(event, 'base64'));
  await writeNew(files.proof, proof);
  const human = (): string =>
    `Wrote ${files.event} and ${files.proof}. Whoever has the key of the log checks them:\n  annals verify ${files.event} ${files.proof} --vkey ${vkey}`;
  print({ ...files, vkey }, { json, human });
}

async function writeNew(file: string, content: Uint8Array | string): Promise<void> {
  await writeFile(file, content, { flag: 'wx' }).catch((cause: unknown) => {
    throw new AppError('CONFLICT', `${file} cannot be written, or is there already: name another folder with --out`, {
      cause,
    });
  });
}
