import type { Contender, Opened } from './contender.ts';
import { contender as pipelined } from './post-message.ts';

/** As most people write it: the next message is sent when the last one was answered. */
export const contender: Contender = {
  name: 'postMessage, one by one',
  settings: 'the hand-written one, but a call is sent only when the one before it was answered',
  async open(target): Promise<Opened> {
    const { call, close } = await pipelined.open(target);
    let last: Promise<unknown> = Promise.resolve();
    return {
      call: input => {
        const mine = last.then(() => call(input));
        last = mine.catch(() => {});
        return mine;
      },
      close,
    };
  },
};
