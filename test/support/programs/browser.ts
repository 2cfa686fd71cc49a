import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const onMacOs = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];
/** It looks nothing up outside, which a closed network would refuse many times over. */
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  '--no-sandbox',
];

/** Starts a real browser without a window; `CHROMIUM` names one that is not on the path. */
export async function openBrowser(): Promise<Browser> {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const found = [
    process.env['CHROMIUM'] ?? '',
    ...names.flatMap((name) => folders.map((folder) => path.join(folder, name))),
    ...onMacOs,
  ].find((file) => file !== '' && existsSync(file));
  if (found === undefined)
    throw new Error('No Chromium to look at pages with: apt-get install chromium, or set CHROMIUM to the file of one.');
  return await chromium.launch({ executablePath: found, args: quiet });
}
