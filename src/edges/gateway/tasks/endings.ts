import type { StepDetail } from '../../../commands/transfers/steps.ts';

/** Reasons of ended tasks that no gateway can resume; for clients, in the real client's words where it has some. */
export const endings = {
  lostSignature: {
    error: 'the gateway was restarted and keeps no download signatures; request the download again',
    code: 'GONE',
  },
  lostAction: { error: 'the chain no longer has the action', code: 'NOT_FOUND' },
  lostFile: { error: 'the gateway that took the file in is gone; the file was uploaded again', code: 'GONE' },
} as const satisfies Record<string, StepDetail>;
