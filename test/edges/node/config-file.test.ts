import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { configFromEnvironment } from '../../../src/edges/config.ts';
import { configuredIn } from '../../../src/edges/node/config-file.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'annals-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(content: string): string {
  const file = path.join(folder, 'config.yml');
  writeFileSync(file, content);
  return file;
}

const real = `
supernode:
  key_name: mykey
  host: 127.0.0.9
  port: 5444
  gateway_port: 9002
keyring: {backend: test}
p2p: {port: 6445, data_dir: data}
`;

describe('a node’s configuration file', () => {
  it('sets ports and host, and what the environment sets counts more', { tags: ['S1.port.config'] }, () => {
    const NODE_CONFIG = fileWith(real);
    expect(configFromEnvironment({ NODE_CONFIG, P2P_PORT: '7445' })).toMatchObject({
      grpcPort: 5444,
      nodeHttpPort: 9002,
      host: '127.0.0.9',
      p2pPort: 7445,
    });
  });

  it('sets nothing when it holds nothing of that, or is not named', () => {
    expect(configuredIn(undefined)).toEqual({});
    for (const content of ['', '- a', 'supernode: 3', 'supernode: {port: [1]}'])
      expect(configuredIn(fileWith(content))).toEqual({});
  });

  it('is refused where it is no YAML or not there', { tags: ['S1.port.config'] }, () => {
    expect(() => configuredIn(fileWith('a: [1'))).toThrow('NODE_CONFIG=');
    expect(() => configuredIn(path.join(folder, 'none'))).toThrow('cannot be read as YAML');
  });
});
