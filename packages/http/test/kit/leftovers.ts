/** Checks that a file's tests leave no socket, server, process or timer behind. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

/** Everything that would keep the process going. */
function holdings(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter(name => /TCP|TLS|Pipe|Process|Timeout|Immediate|Worker|Port/.test(name))
    .sort();
}

/**
 * Call it first.
 * @param close ends what the whole file used, before it is looked what is left
 */
export function leavesNothingBehind(close: () => Promise<void> = async () => {}): void {
  let beforeAll: string[] = [];
  before(() => {
    beforeAll = holdings();
  });
  after(async () => {
    await close();
    for (let tries = 0; tries < 100 && holdings().length > beforeAll.length; tries++) await sleep(20);
    assert.ok(holdings().length <= beforeAll.length, `left: ${holdings()}; before: ${beforeAll}`);
  });
}
