import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { configFromEnvironment } from '../../../src/config.ts';
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
    for (const content of ['', 'supernode:', 'supernode: {port: }', 'keyring: {port: [1]}'])
      expect(configuredIn(fileWith(content))).toEqual({});
  });

  it(
    'is refused, by the names of its keys, where one holds what it does not take',
    { tags: ['S1.port.config'] },
    () => {
      for (const [content, problem] of [
        ['- a', 'supernode.port takes a place in a section'],
        ['supernode: [5444]', 'supernode.port takes a place in a section'],
        ['supernode: {port: [1]}', 'supernode.port takes one value'],
        ['supernode: {port: 99999}', 'supernode.port takes a whole number from 0 to 65535'],
        ['supernode: {gateway_port: x}\np2p: {port: -1}', /supernode\.gateway_port takes .*; p2p\.port takes /],
      ] as const)
        expect(() => configuredIn(fileWith(content))).toThrow(problem);
    },
  );

  it('is refused where it is no YAML or not there', { tags: ['S1.port.config'] }, () => {
    expect(() => configuredIn(fileWith('a: [1'))).toThrow('NODE_CONFIG=');
    expect(() => configuredIn(path.join(folder, 'none'))).toThrow('cannot be read as YAML');
  });
});
