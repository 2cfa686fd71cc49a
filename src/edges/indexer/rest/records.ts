/** The records that have versions and events: the stream that holds their events, and where they are shown. */
export const records = [
  {
    of: 'actions',
    stream: 'ACTIONS',
    kind: 'action',
    tag: 'Actions',
    detail: '',
    isId: (id: string) => /^(0|[1-9]\d{0,77})$/.test(id),
  },
  {
    of: 'supernodes',
    stream: 'NODES',
    kind: 'node',
    tag: 'SuperNodes',
    detail: '/metrics',
    isId: (id: string) => !id.includes('\0'),
  },
] as const;
