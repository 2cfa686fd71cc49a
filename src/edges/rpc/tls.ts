import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { AppError, toAppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { wait } from '../../kit/wait.ts';

/** PEM files of a server; with a client CA a client's certificate is required. */
export type TlsFiles = Readonly<{ cert: string; key: string; clientCa?: string | undefined }>;

/** The contents of the files. */
export type TlsMaterial = Readonly<{ cert: Buffer; key: Buffer; ca?: Buffer | undefined }>;

const usualEveryMs = 5000;

/** Reads the files; fails with `INVALID_ARGUMENT` where one cannot be read, or key and certificate do not fit. */
export async function readTls({ cert, key, clientCa }: TlsFiles): Promise<TlsMaterial> {
  try {
    const material = {
      cert: await readFile(cert),
      key: await readFile(key),
      ca: clientCa === undefined ? undefined : await readFile(clientCa),
    };
    createSecureContext(material);
    return material;
  } catch (caught) {
    const { message } = toAppError(caught);
    throw new AppError('INVALID_ARGUMENT', `GRPC_TLS_CERT=${cert} and its key cannot be used: ${message}`, {
      cause: caught,
    });
  }
}

/**
 * Checks the files every few seconds and passes on their new contents when they changed; contents that do not fit are
 * ignored with a warning.
 */
export async function followTls(
  files: TlsFiles,
  first: TlsMaterial,
  {
    renew,
    logger,
    signal,
    everyMs = usualEveryMs,
  }: Readonly<{
    renew: (material: TlsMaterial) => void;
    logger: Logger;
    signal: AbortSignal;
    everyMs?: number | undefined;
  }>,
): Promise<void> {
  let inForce = first;
  let isRefused = false;
  for (;;) {
    await wait(everyMs, signal);
    if (signal.aborted) return;
    try {
      const match = await readTls(files);
      isRefused = false;
      if (isSame(inForce, match)) continue;
      renew(match);
      inForce = match;
      logger.info({ cert: files.cert }, 'certificate was renewed');
    } catch (caught) {
      if (!isRefused) logger.warn({ err: toAppError(caught) }, 'new certificate cannot be used; the last one stays');
      isRefused = true;
    }
  }
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  const isSameFile = (one: Buffer | undefined, other: Buffer | undefined): boolean =>
    one === other || (one !== undefined && other !== undefined && one.equals(other));
  return isSameFile(a.cert, b.cert) && isSameFile(a.key, b.key) && isSameFile(a.ca, b.ca);
}
