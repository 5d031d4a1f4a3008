/* What a call costs besides its work: microseconds a call on systems of a few rows, the least of 20 batches of 10,000.
 *
 *   cc -O2 overhead.c $(pkg-config --cflags --libs chromaflow) -o overhead && ./overhead [context options]   */
#include "overhead.h"

static double values[MOST * Q], b[MOST * NB], x[MOST * NB];

static void call(chromaflow_solver *s, int what, int64_t n, int64_t entries) {
  switch (what) {
  case 0: check(chromaflow_solver_multiply(s, chromaflow_in_f64(b, n), chromaflow_out_f64(x, n))); break;
  case 1: check(chromaflow_solver_apply(s, chromaflow_in_f64(b, n), chromaflow_out_f64(x, n))); break;
  case 2:
    for (int64_t i = 0; i < n; i++) x[i] = 0;
    check(chromaflow_solver_solve(s, chromaflow_in_f64(b, n), chromaflow_out_f64(x, n), NULL));
    break;
  default: check(chromaflow_solver_set_values(s, chromaflow_in_f64(values, entries), chromaflow_none(), 0, NULL));
  }
}

int main(int argc, char **argv) {
  static const char *names[] = {"multiply", "apply", "solve", "set_values"};
  int32_t row_ptr[MOST + 1], col_idx[MOST];
  chromaflow_context *context;
  check(chromaflow_context_create(argc > 1 ? argv[1] : "threads=1", NULL, &context));
  printf("%-12s %10s %10s %10s\n", "rows", "1", "8", "64");
  for (int i = 0; i <= MOST; i++) row_ptr[i] = i;
  for (int i = 0; i < MOST; i++) col_idx[i] = i;
  for (int i = 0; i < MOST * Q; i++) values[i] = i % Q % (NB + 1) == 0 ? 2 : 0.125;
  for (int i = 0; i < MOST * NB; i++) b[i] = 1;
  for (int what = 0; what < 4; what++) {
    printf("%-12s", names[what]);
    for (int k = 0; k < 3; k++) {
      const int rows = sizes[k];
      chromaflow_solver *s;
      chromaflow_pattern p = {sizeof p, rows, NB, 0, chromaflow_in_i32(row_ptr, rows + 1), chromaflow_in_i32(col_idx, rows), 0};
      /* One block row after another, exact after one application: solves are one iteration. */
      check(chromaflow_solver_create(context, &p, "preconditioner=ilu0,order=natural,policy=d", &s));
      call(s, 3, rows * NB, rows * Q);
      double least = 1e30;
      for (int batch = 0; batch < 20; batch++) {
        const double start = now();
        for (int i = 0; i < 10000; i++) call(s, what, rows * NB, rows * Q);
        const double each = (now() - start) / 10000;
        least = each < least ? each : least;
      }
      printf(" %10.3f", least);
      chromaflow_solver_destroy(s);
    }
    printf("\n");
  }
  chromaflow_context_destroy(context);
  return 0;
}
