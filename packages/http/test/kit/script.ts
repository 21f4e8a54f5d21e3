/** What the bad server does, decided by a seed. */
import type { Random } from 'hotlane/testing';
import { BAD, type Behaviour, GOOD } from './answers.ts';
import { randomOf } from './bytes.ts';

/** What happens to a connection whatever is asked on it. */
export interface ConnectionPlan {
  /** `reset`: at once; `unasked`: an answer comes before any request. */
  readonly greeting: 'none' | 'reset' | 'unasked';
  /** It closes after so many answers, without a word. */
  readonly closesAfter: number;
  readonly closesBy: 'fin' | 'reset' | 'half-close';
}

export interface Script {
  connection(index: number): ConnectionPlan;
  /** @param attempt 1 for the first time that this id is seen */
  answer(
    id: string,
    method: string,
    attempt: number,
  ): { readonly behaviour: Behaviour; readonly random: Random };
}

export interface Policy {
  /** How often an answer is bad: 0 never, 1 always. */
  readonly badness: number;
  readonly bad: readonly Behaviour[];
  readonly good: readonly Behaviour[];
  /** How often a connection closes by itself after a few answers. */
  readonly fickle: number;
  /** How often a connection is greeted with a reset or an answer. */
  readonly rude: number;
}

const ENDING = BAD.filter(name => /close|fin|reset|1\.0/.test(name));
const STALLING = BAD.filter(name => name.startsWith('stall'));
const LYING = BAD.filter(name => /swapped|doubled|garbage|length|unasked/.test(name));
const honest: Policy = { badness: 0, bad: [], good: GOOD, fickle: 0, rude: 0 };

export const POLICIES = {
  /** Nothing is wrong: every request that nobody aborts must succeed, and be sent once. */
  honest,
  /** Connections end at every point, as the protocol allows or not. */
  closing: { ...honest, badness: 0.25, bad: ENDING, fickle: 0.5 },
  stalling: { ...honest, badness: 0.12, bad: STALLING },
  /** Answers that nobody can trust. */
  lying: { ...honest, badness: 0.25, bad: LYING, rude: 0.1 },
  everything: { ...honest, badness: 0.3, bad: BAD, fickle: 0.2, rude: 0.1 },
} as const satisfies Record<string, Policy>;

export type PolicyName = keyof typeof POLICIES;

export const STEADY: ConnectionPlan = {
  greeting: 'none',
  closesAfter: Number.POSITIVE_INFINITY,
  closesBy: 'fin',
};

/** The same seed, the same plan for the same connection, and for the same attempt of the same request. */
export function seededScript(seed: number, policy: Policy): Script {
  return {
    connection(index) {
      const random = randomOf(seed, 'connection', index);
      return {
        greeting: random.chance(policy.rude) ? random.pick(['reset', 'unasked'] as const)! : 'none',
        closesAfter: random.chance(policy.fickle) ? 1 + random.below(5) : STEADY.closesAfter,
        closesBy: random.pick(['fin', 'reset', 'half-close'] as const)!,
      };
    },
    answer(id, _method, attempt) {
      const random = randomOf(seed, 'answer', id, attempt);
      const behaviour = random.pick(random.chance(policy.badness) ? policy.bad : policy.good)!;
      return { behaviour, random };
    },
  };
}

/** Steady connections, and answers as told: by the attempt, or by the request. */
export function told(behaviour: (id: string, attempt: number) => Behaviour): Script {
  return {
    connection: () => STEADY,
    answer: (id, _method, attempt) => ({
      behaviour: behaviour(id, attempt),
      random: randomOf(id, attempt),
    }),
  };
}
