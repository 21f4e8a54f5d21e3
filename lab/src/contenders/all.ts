import type { Contender } from './contender.ts';

/**
 * Every contender, by the name it has on command lines. Each is loaded only where it is run, so that none
 * shares a process with another's code.
 */
export const contenders: Readonly<Record<string, () => Promise<{ readonly contender: Contender }>>> = {
  hotlane: () => import('./hotlane.ts'),
  'piscina-default': () => import('./piscina-default.ts'),
  'piscina-tuned': () => import('./piscina-tuned.ts'),
  tinypool: () => import('./tinypool.ts'),
  comlink: () => import('./comlink.ts'),
  'post-message': () => import('./post-message.ts'),
  'post-message-serial': () => import('./post-message-serial.ts'),
  synckit: () => import('./synckit.ts'),
  'hotlane-recycle': () => import('./hotlane-recycle.ts'),
  'hotlane-deadline': () => import('./hotlane-deadline.ts'),
  'same-thread': () => import('./same-thread.ts'),
};

/** @throws RangeError for a name that is not in the list */
export async function loadContender(key: string): Promise<Contender> {
  if (!Object.hasOwn(contenders, key)) throw new RangeError(`There is no contender \`${key}\`.`);
  return (await contenders[key]!()).contender;
}
