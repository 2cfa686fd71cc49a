import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/polling.ts';
import { sendBrokenForms } from '../../support/callers/broken-forms.ts';
import { type Receiver, startReceiver } from '../../kit/tracing/otlp-receiver.ts';
import { expectReadTraced, expectTransactionTraced, expectUploadTraced } from '../../kit/tracing/traced-requests.ts';
import { type Program, startProgram } from '../../support/programs/program.ts';
import { expectExampleRuns } from './gateway-example.ts';
import {
  expectDownloads,
  expectHistory,
  expectLegacyPaths,
  expectRawSignature,
  expectRefusals,
  expectUploadOfOldClient,
} from './gateway-flows.ts';
import { expectSeenOnce } from './gateway-reconnects.ts';
import { expectSecretsUntold } from './gateway-secrets.ts';
import { expectSameBytes } from './gateway-sizes.ts';

/** How many broken forms are sent, and what decides them; `FORMS` and `FORMS_SEED` set others. */
const forms = { count: Number(process.env['FORMS'] ?? 1000), seed: Number(process.env['FORMS_SEED'] ?? 20) };

const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;
const token = 'a-token-of-twenty-four-letters';

let program: Program;
let receiver: Receiver;
let gateway: string;

beforeAll(async () => {
  receiver = await startReceiver();
  const secrets = { SYNC_TOKEN: token, ALLOW_MANUAL_SYNC: 'true', LOG_LEVEL: 'debug' };
  const env = {
    LOCAL_SUBNET: subnet,
    PUBLIC_DOWNLOADS: 'chain',
    RATE_LIMIT: 'off',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    ...secrets,
  };
  program = await startProgram({ network: 'local', env });
  gateway = program.instance.urls['gateway'] ?? '';
  await until('the gateway is ready', async () => (await fetch(`${gateway}/readyz`)).status === 200, 60_000);
});

describe('the stream of states', () => {
  it('shows each state once to readers who lose it, a thousand times', { tags: ['S3.stream.resume'] }, async () => {
    await expectSeenOnce(gateway, 1000);
  });
});

describe('an upload', () => {
  it(
    'that is broken is refused, a thousand times, and nothing is left of it',
    { tags: ['S3.upload.broken'], timeout: 90_000 + forms.count * 60 },
    async () => {
      expect(await sendBrokenForms(program, forms)).toEqual([]);
    },
  );
});

describe('files of no byte, of one and of a mebibyte', () => {
  it('come back as they were, public and private ones', { tags: ['S3.sizes'] }, async () => {
    await expectSameBytes(gateway);
  });
});

describe('docs/gateway.md', () => {
  it('shows an example with curl that runs', async () => {
    await expectExampleRuns(gateway);
  });
});

describe('traces', () => {
  it('lead from the request of a caller to the rows, through the log and a SuperNode', async () => {
    await expectUploadTraced(gateway, receiver);
  });

  it('lead from a transaction of a wallet to its event, and name the position of a read', async () => {
    await expectTransactionTraced(program.instance.urls['json-rpc'] ?? '', receiver);
    await expectReadTraced(program.base, receiver);
  });
});

describe('secrets', () => {
  it('are found nowhere where others read', { tags: ['S3.secrets'] }, async () => {
    await expectSecretsUntold(program, gateway, { token, traces: () => receiver.bodies.join('\n') });
  });
});

describe('clients of others', () => {
  it(
    'see their request sequences answered as they expect',
    {
      tags: [
        'S3.upload.reference',
        'S3.upload.fresh',
        'C8.1',
        'C8.2',
        'C8.3',
        'C8.4',
        'C8.5',
        'C8.6',
        'C8.7',
        'C8.8',
        'S3.stream.frames',
        'S3.stream.accept',
        'S3.history',
        'S3.states.uploaded',
        'S3.states.failures',
        'S3.task.cross',
        'S3.upload.unknown',
        'S3.upload.done',
        'S3.download.chain',
      ],
    },
    async () => {
      const task = await expectUploadOfOldClient(gateway);
      await expectHistory(gateway, task);
      await expectDownloads(gateway, task);
      await expectRefusals(gateway, task);
    },
  );

  it('are served on the legacy paths', { tags: ['S3.legacy', 'C8.8'] }, async () => {
    await expectLegacyPaths(gateway);
  });

  it(
    'may sign the text itself, and find their tasks in lists',
    { tags: ['S3.signature.forms', 'S3.download.unsigned', 'S3.lists'] },
    async () => {
      await expectRawSignature(gateway);
      expect(program.log.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );
});
