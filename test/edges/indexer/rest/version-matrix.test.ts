import { describe, expect, it } from 'vitest';
import { matrixOf } from '../../../../src/edges/indexer/rest/version-matrix.ts';
import { nodeFacts, probeFacts } from '../../../support/histories/facts.ts';
import { askOnce, type startRest } from './rest-server.ts';
import { alpha, beta, sample } from './sample.ts';

const inUse = (...versions: string[]) => versions.map((version) => ({ version, available: true }));
const noLimits = { minimum: null };

describe('GET /v1/version/matrix', () => {
  it(
    'describes every version that a tracked node reports',
    {
      tags: [
        'S2.version.route',
        'S2.version.matrix',
        'S2.version.node_version',
        'S2.version.compatible_versions',
        'S2.version.deprecated',
        'S2.version.current_recommended',
        'S2.versioning.matrix',
        'S2.open.nodes.version-matrix',
      ],
    },
    async () => {
      const { status, body } = await askOnce('/v1/version/matrix', sample);
      expect(status).toBe(200);
      expect(body).toEqual({
        matrix: [
          { node_version: 'v2.6.2', compatible_versions: ['v2.6.2', 'v2.5.0'], deprecated: false },
          { node_version: 'v2.5.0', compatible_versions: ['v2.6.2', 'v2.5.0'], deprecated: false },
          { node_version: 'v1.9.0', compatible_versions: ['v1.9.0'], deprecated: true },
        ],
        current_recommended: 'v2.6.2',
      });
    },
  );

  it(
    'recommends what the network’s profile says, else the highest that an available node reports, else nothing',
    { tags: ['S2.version.current_recommended', 'S2.open.nodes.version-matrix', 'LS-15'] },
    async () => {
      const facts = [
        nodeFacts(alpha).listed(),
        nodeFacts(beta).listed(),
        probeFacts(alpha).succeeded({ version: 'v2.0.0' }),
      ];
      const recommended = async (...started: Parameters<typeof startRest>) => {
        return (await askOnce('/v1/version/matrix', ...started)).body.current_recommended;
      };
      expect(await recommended([...facts, probeFacts(beta).failed(1, { figures: { version: 'v3.0.0' } })])).toBe(
        'v2.0.0',
      );
      expect(
        await recommended(facts, { settings: { profile: { addressPrefix: 'lumera', recommendedVersion: 'v2.7.0' } } }),
      ).toBe('v2.7.0');
      expect(await recommended([])).toBeNull();
    },
  );
});

describe('matrixOf', () => {
  it('orders by version, the newest first, what is no version last', { tags: ['S2.open.nodes.version-matrix'] }, () => {
    const { matrix } = matrixOf(inUse('dev', 'v2.10.0', '2.9.0', 'v2.10.0-rc.1', '', 'v10.0.0'), noLimits);
    expect(matrix.map(({ node_version }) => node_version)).toEqual([
      'v10.0.0',
      'v2.10.0',
      'v2.10.0-rc.1',
      '2.9.0',
      '',
      'dev',
    ]);
  });

  it(
    'joins those of one major number that are not deprecated, and each with itself',
    { tags: ['S2.version.compatible_versions', 'S2.open.nodes.version-matrix'] },
    () => {
      const { matrix } = matrixOf(inUse('v2.1.0', 'v2.0.0', 'v1.9.0', 'dev'), { minimum: '2.1.0' });
      expect(matrix).toEqual([
        { node_version: 'v2.1.0', compatible_versions: ['v2.1.0'], deprecated: false },
        { node_version: 'v2.0.0', compatible_versions: ['v2.1.0', 'v2.0.0'], deprecated: true },
        { node_version: 'v1.9.0', compatible_versions: ['v1.9.0'], deprecated: true },
        { node_version: 'dev', compatible_versions: ['dev'], deprecated: false },
      ]);
    },
  );

  it('deprecates nothing where the chain names no minimum, or one that is no version', () => {
    for (const minimum of [null, '', 'none'])
      expect(matrixOf(inUse('v0.0.1'), { minimum }).matrix[0]?.deprecated).toBe(false);
  });
});
