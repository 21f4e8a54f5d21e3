import type { EventEmitter } from 'node:events';
import {
  type CallOptions,
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  type ClientWritableStream,
  Metadata,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';
import type { Answer, Question } from '../fixtures/probe.ts';

type Given = Partial<Question>;

/** How a call ended, with all that came. */
export interface Outcome {
  readonly answer: Answer | undefined;
  readonly answers: readonly Answer[];
  readonly code: number;
  readonly details: string;
  readonly headers: Metadata;
  readonly trailers: Metadata;
}

interface Stub extends Client {
  ask(
    q: Given,
    m: Metadata,
    o: CallOptions,
    done: (e: ServiceError | null, a?: Answer) => void,
  ): ClientUnaryCall;
  add(
    m: Metadata,
    o: CallOptions,
    done: (e: ServiceError | null, a?: Answer) => void,
  ): ClientWritableStream<Given>;
  count(q: Given, m: Metadata, o: CallOptions): ClientReadableStream<Answer>;
  chat(m: Metadata, o: CallOptions): ClientDuplexStream<Given, Answer>;
}

export interface Options extends CallOptions {
  readonly metadata?: Record<string, string | Buffer>;
}

/** The test service's client, with promises of how calls end. They never reject: a status is an outcome. */
export class ProbeClient {
  readonly stub: Stub;

  constructor(stub: Client) {
    this.stub = stub as Stub;
  }

  close(): void {
    this.stub.close();
  }

  ask(question: Given, { metadata, ...options }: Options = {}): Promise<Outcome> {
    return this.asking(question, { metadata, ...options }).outcome;
  }

  asking(question: Given, { metadata, ...options }: Options = {}) {
    let answer: Answer | undefined;
    const call = this.stub.ask(question, toMetadata(metadata), options, (_, value) => {
      answer = value;
    });
    return { call, outcome: outcomeOf(call, () => ({ answer, answers: [] })) };
  }

  add(questions: readonly Given[], { metadata, ...options }: Options = {}): Promise<Outcome> {
    const { call, outcome } = this.adding({ metadata, ...options });
    for (const question of questions) call.write(question);
    call.end();
    return outcome;
  }

  adding({ metadata, ...options }: Options = {}) {
    let answer: Answer | undefined;
    const call = this.stub.add(toMetadata(metadata), options, (_, value) => {
      answer = value;
    });
    return { call, outcome: outcomeOf(call, () => ({ answer, answers: [] })) };
  }

  count(question: Given, options: Options = {}): Promise<Outcome> {
    return this.counting(question, options, true).outcome;
  }

  /** @param reads false: the test reads */
  counting(question: Given, { metadata, ...options }: Options = {}, reads = false) {
    const call = this.stub.count(question, toMetadata(metadata), options);
    const answers: Answer[] = [];
    if (reads) call.on('data', (one: Answer) => answers.push(one));
    return { call, outcome: outcomeOf(call, () => ({ answer: answers[0], answers })) };
  }

  chat(questions: readonly Given[], { metadata, ...options }: Options = {}): Promise<Outcome> {
    const { call, outcome } = this.chatting({ metadata, ...options });
    for (const question of questions) call.write(question);
    call.end();
    return outcome;
  }

  chatting({ metadata, ...options }: Options = {}) {
    const call = this.stub.chat(toMetadata(metadata), options);
    const answers: Answer[] = [];
    call.on('data', (one: Answer) => answers.push(one));
    return { call, answers, outcome: outcomeOf(call, () => ({ answer: answers[0], answers })) };
  }
}

type AnyCall = EventEmitter;

function outcomeOf(
  call: AnyCall,
  got: () => { answer: Answer | undefined; answers: readonly Answer[] },
): Promise<Outcome> {
  let headers = new Metadata();
  call.on('metadata', (metadata: Metadata) => {
    headers = metadata;
  });
  call.on('error', () => {}); // the status has it
  return new Promise(resolve => {
    call.on('status', ({ code, details, metadata }: StatusObject) => {
      // The callback with the answer comes after the status.
      setImmediate(() => resolve({ ...got(), code, details, headers, trailers: metadata }));
    });
  });
}

function toMetadata(values: Record<string, string | Buffer> = {}): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(values)) metadata.add(key, value);
  return metadata;
}
