import { X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import type { Metadata } from '@grpc/grpc-js';
import { context } from 'hotlane/worker';
import { type MetadataValues, parted, toMetadata, toValues } from './metadata.ts';
import { LaneRecorder, type Recorded } from './metrics.ts';
import type { About, AuthContext } from './wire.ts';

/** What all four kinds of call know in a lane; handlers hold one of the classes of `lane-calls.ts`. */
export class LaneCall {
  readonly path: string;
  readonly #about: About;
  /** Most handlers ask for none of it. */
  #head: MetadataValues | null = null;
  #metadata: Metadata | null = null;
  /** What `sendMetadata` was given; null before, and once it is on its way. */
  headers: MetadataValues | null = null;
  /** Told of `headers` where they can go ahead of the answer. */
  onHeaders: (() => void) | null = null;
  /** The handler has not returned for the first time, so that what runs is this call. */
  entered = true;
  isCancelled = false;
  #sent = false;
  #recorder: LaneRecorder | null = null;
  #signal: AbortSignal | null = null;
  #listener: (() => void) | null = null;

  constructor(path: string, about: About) {
    this.path = path;
    this.#about = about;
  }

  get peer(): string {
    return this.#values()[0] as string;
  }

  get host(): string {
    return this.#values()[1] as string;
  }

  #values(): MetadataValues {
    this.#head ??= parted(this.#about[0]);
    return this.#head;
  }

  get deadline(): Date | number {
    const deadline = this.#about[1];
    return deadline === Number.POSITIVE_INFINITY ? deadline : new Date(deadline);
  }

  get metadata(): Metadata {
    this.#metadata ??= toMetadata(this.#values(), 2);
    return this.#metadata;
  }

  get auth(): AuthContext {
    const auth = this.#about[3];
    if (auth === null) return {};
    const [transportSecurityType, certificate] = auth;
    // The same as sockets give it.
    const legacy = certificate === null ? undefined : new X509Certificate(certificate).toLegacyObject();
    return { transportSecurityType, sslPeerCertificate: legacy as PeerCertificate | undefined };
  }

  get recorder(): LaneRecorder {
    this.#recorder ??= new LaneRecorder();
    return this.#recorder;
  }

  /** What was recorded until now; null when nobody records. */
  get metrics(): Recorded[] | null {
    return this.#recorder?.recorded() ?? null;
  }

  /** While the handler has not let go of the event loop no event can say so; then the call is asked. */
  get cancelled(): boolean {
    return this.isCancelled || (this.entered && context.aborted());
  }

  /** Only the first counts, as in grpc-js. */
  sendMetadata(metadata: Metadata): void {
    if (this.#sent) return;
    this.#sent = true;
    this.headers = toValues(metadata);
    this.onHeaders?.();
  }

  /** Headers can no longer go: the first message went. */
  closeHeaders(): void {
    this.#sent = true;
  }

  /** Must be called from the handler's own call of the lane. */
  onCancelled(then: () => void): void {
    this.#signal = context.signal;
    this.#listener = () => {
      this.isCancelled = true;
      then();
    };
    this.#signal.addEventListener('abort', this.#listener, { once: true });
    if (this.#signal.aborted) this.#listener();
  }

  /** The host wants no more of it. */
  cancel(): void {
    if (!this.isCancelled) this.#listener?.();
  }

  /** It has its answer: cancelling means nothing any more. */
  end(): void {
    if (this.#listener !== null) this.#signal?.removeEventListener('abort', this.#listener);
    this.#listener = null;
  }
}
