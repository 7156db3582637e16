// What a capsule's holders are shown: every tool it holds, or a search for them.
export const listing = (): string[] => [
  `alter table capsules add column listing text not null default 'full'`,
];
