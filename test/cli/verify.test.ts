import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { checkpointText, noteSigner, proofText } from '../../src/engine/archive/proof/notes.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { jsonLines, runVerb } from '../support/programs/verb.ts';
import { naivePath, naiveRoot } from '../engine/archive/proof/naive-tree.ts';

const origin = 'annals-0011223344556677/devnet/ACTIONS/2026-11-24T00:00:00Z';

it('verify accepts the bytes that a signed checkpoint has, and nothing else', async () => {
  const { folder, remove } = freshFolder();
  onTestFinished(remove);
  const [event, other, proof] = ['event.json', 'other.json', 'proof'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  const events = Array.from({ length: 300 }, (_, at) => `{"number":${at}}`);
  const entries = events.map((text) => createHash('sha256').update(text).digest());
  const { vkey, sign } = noteSigner(origin, createHash('sha256').update('a key of a test').digest());
  const checkpoint = sign(checkpointText({ origin, size: 300, root: naiveRoot(entries) }));
  writeFileSync(event, events[259] ?? '');
  writeFileSync(other, events[260] ?? '');
  writeFileSync(proof, proofText(259, naivePath(259, entries), checkpoint));

  const [sound, forged, missing] = await Promise.all([
    runVerb(folder, 'verify', event, proof, '--vkey', vkey, '--json'),
    runVerb(folder, 'verify', other, proof, '--vkey', vkey),
    runVerb(folder, 'verify', path.join(folder, 'none'), proof, '--vkey', vkey),
  ]);
  expect(sound).toMatchObject({ status: 0, stderr: '' });
  expect(jsonLines(sound)).toEqual([{ origin, sequence: 260, size: 300 }]);
  expect(forged).toMatchObject({ status: 1, stdout: '' });
  expect(forged.stderr).toContain('does not prove');
  expect(missing).toMatchObject({ status: 1, stdout: '' });
  expect(missing.stderr).toContain('cannot be read');
});
