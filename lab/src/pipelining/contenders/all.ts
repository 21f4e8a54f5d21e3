import { Hotline } from '@hotlane/http';
import { Client, Pool } from 'undici';
import { hasBrowser } from '../loading/browser.ts';
import { CONNECT_TIMEOUT_MS, CONNECTIONS, type Contender } from './contender.ts';
import { OneForOne } from './one-for-one.ts';

const connect = { timeout: CONNECT_TIMEOUT_MS };

/** Every contender, by the name it has on command lines. All but the last three have four connections. */
export const contenders: Readonly<Record<string, Contender>> = {
  none: {
    name: 'no pipelining',
    settings: 'undici Pool, 4 connections, one request at a time on each',
    isHttp2: false,
    isPeer: true,
    hasQuota: false,
    open: async origin => ({
      dispatcher: new Pool(origin, { connections: CONNECTIONS, pipelining: 1, connect }),
      blocking: undefined,
    }),
  },
  'one-for-one': {
    name: 'one for one',
    settings: 'pipelining as the study of 2008 found it, on four undici Clients',
    isHttp2: false,
    isPeer: true,
    hasQuota: true,
    open: async (origin, quota) => ({ dispatcher: new OneForOne(origin, { quota }), blocking: false }),
  },
  ours: {
    name: 'ours',
    settings: 'Hotline of @hotlane/http, 4 connections',
    isHttp2: false,
    isPeer: true,
    hasQuota: true,
    open: async (_origin, quota) => {
      const dispatcher = new Hotline({ connections: CONNECTIONS, maxDepth: quota, connect });
      return { dispatcher, blocking: undefined, stats: () => dispatcher.stats() };
    },
  },
  pool: {
    name: 'undici Pool',
    settings: 'undici Pool, 4 connections, pipelining, otherwise as it comes',
    isHttp2: false,
    isPeer: true,
    hasQuota: true,
    open: async (origin, quota) => ({
      dispatcher: new Pool(origin, { connections: CONNECTIONS, pipelining: quota, connect }),
      blocking: undefined,
    }),
  },
  'pool-free': {
    name: 'undici Pool, blocking: false',
    settings: 'undici Pool, 4 connections, pipelining, each request with blocking: false',
    isHttp2: false,
    isPeer: true,
    hasQuota: true,
    open: async (origin, quota) => ({
      dispatcher: new Pool(origin, { connections: CONNECTIONS, pipelining: quota, connect }),
      blocking: false,
    }),
  },
  'pool-as-is': {
    name: 'undici Pool, as it comes',
    settings: 'undici Pool without options: as many connections as requests, no pipelining',
    isHttp2: false,
    isPeer: false,
    hasQuota: false,
    open: async origin => ({ dispatcher: new Pool(origin, { connect }), blocking: undefined }),
  },
  http2: {
    name: 'HTTP/2',
    settings: 'undici Client, one connection over TLS',
    isHttp2: true,
    isPeer: false,
    hasQuota: false,
    open: async origin => ({
      dispatcher: new Client(origin, {
        allowH2: true,
        // The certificate was made for this run.
        connect: { ...connect, rejectUnauthorized: false },
      }),
      blocking: undefined,
    }),
  },
  chromium: {
    name: 'Chromium',
    settings: 'a real browser of today: six connections, no pipelining; it runs scripts and paints',
    isHttp2: false,
    isPeer: false,
    hasQuota: false,
    open: null,
  },
};

/** Why a contender cannot be had here; null when it can. */
export async function whyMissing(contender: Contender): Promise<string | null> {
  if (contender.open === null) return hasBrowser() ? null : 'there is no Chromium here.';
  try {
    const { dispatcher } = await contender.open('http://127.0.0.1:9', 1);
    await dispatcher.close();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
