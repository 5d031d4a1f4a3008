/* What both programs that time calls share: systems of a few rows of diagonal blocks, failures, the clock. */
#include <chromaflow.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64, NB = 5, Q = NB * NB };
static const int sizes[] = {1, 8, 64};

static void check(chromaflow_status status) {
  char text[512];
  if (status == CHROMAFLOW_OK) return;
  chromaflow_error_text(text, sizeof text);
  fprintf(stderr, "status %d: %s\n", (int)status, text);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}
