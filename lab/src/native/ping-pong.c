/*
 * Two threads that hand a number back and forth: what the machine itself takes for a round trip, either sleeping in
 * the kernel (futex) or spinning. The host may pause before each; the worker may work before it answers: then only the
 * way back counts. Prints nanoseconds, one round trip a line.
 *
 *     ping-pong futex|spin ROUNDS PAUSE_US WORK_US
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Alignas(64) atomic_int turn; /* 0: the host's, 1: the worker's, 2: over */
static int sleeping;
static long work_us;
static long long answered_at;

static void pass_to(int whose) {
  atomic_store(&turn, whose);
  if (sleeping) syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int wait_for(int mine) {
  for (;;) {
    int now = atomic_load(&turn);
    if (now == mine || now == 2) return now;
    if (sleeping) syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
  }
}

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *work(void *unused) {
  while (wait_for(1) == 1) {
    long long end = work_us == 0 ? 0 : now_ns() + work_us * 1000LL;
    while (end > 0 && now_ns() < end) continue;
    if (work_us > 0) answered_at = now_ns(); /* ordered before the host's look at it by `turn` */
    pass_to(0);
  }
  return unused;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  sleeping = strcmp(argv[1], "futex") == 0;
  long rounds = atol(argv[2]);
  useconds_t pause_us = (useconds_t)atol(argv[3]);
  work_us = atol(argv[4]);
  long long *took = malloc(rounds * sizeof *took);
  pthread_t worker;
  if (took == NULL || pthread_create(&worker, NULL, work, NULL) != 0) return 1;
  for (long i = 0; i < rounds; i++) {
    if (pause_us > 0) usleep(pause_us);
    long long from = now_ns();
    pass_to(1);
    wait_for(0);
    took[i] = now_ns() - (work_us > 0 ? answered_at : from);
  }
  pass_to(2);
  pthread_join(worker, NULL);
  for (long i = rounds / 10; i < rounds; i++) printf("%lld\n", took[i]);
  return 0;
}
