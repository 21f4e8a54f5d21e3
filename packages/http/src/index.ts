export type { ConnectionMessage, RetryMessage, TrustMessage } from './channels.ts';
export { Hotline, type HotlineStats } from './hotline.ts';
export type { HotlineOptions } from './options.ts';
export type { OriginStats } from './origin.ts';
export type { RequestHints, RequestOptions } from './request.ts';
export type { TrustRecord, TrustState } from './trust.ts';
