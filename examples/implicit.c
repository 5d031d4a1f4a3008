/* Two coupled unknowns on a 40 x 40 grid, three implicit steps with growing time step: pattern once, values every step. */
#include <chromaflow.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 40, ROWS = N * N, NB = 2 };
static const double weight[4] = {-1.2, -1.1, -0.8, -0.9};

static void check(chromaflow_status status) {
  char text[512];
  if (status == CHROMAFLOW_OK) return;
  chromaflow_error_text(text, sizeof text);
  fprintf(stderr, "status %d: %s\n", (int)status, text);
  exit(1);
}

/* Neighbors west, south, east, north of a row, or -1. */
static int neighbor(int row, int side) {
  int i = row % N + (side == 2) - (side == 0), j = row / N + (side == 3) - (side == 1);
  return i < 0 || j < 0 || i == N || j == N ? -1 : j * N + i;
}

static void put(double block[NB][NB], double a, double b, double c, double d) {
  block[0][0] = a, block[0][1] = b, block[1][0] = c, block[1][1] = d;
}

int main(void) {
  static int32_t row_ptr[ROWS + 1], col_idx[5 * ROWS];
  static double values[5 * ROWS][NB][NB], b[ROWS * NB], x[ROWS * NB];
  int nnzb = 0;
  for (int row = 0; row < ROWS; row++) {
    col_idx[nnzb++] = row; /* the diagonal block comes first */
    for (int side = 0; side < 4; side++)
      if (neighbor(row, side) >= 0) col_idx[nnzb++] = neighbor(row, side);
    row_ptr[row + 1] = nnzb;
  }
  chromaflow_context *context;
  chromaflow_solver *solver;
  chromaflow_pattern pattern = {sizeof pattern, ROWS, NB, 0, chromaflow_in_i32(row_ptr, ROWS + 1),
                                chromaflow_in_i32(col_idx, nnzb), 0};
  check(chromaflow_context_create("threads=2", NULL, &context));
  check(chromaflow_solver_create(context, &pattern, "preconditioner=ilu0, policy=d", &solver));
  for (int i = 0; i < ROWS * NB; i++) b[i] = 1.0;
  for (int step = 0; step < 3; step++) {
    double shift = step == 0 ? 10.0 : step == 1 ? 1.0 : 0.1;
    for (int row = 0, k = 0; row < ROWS; row++) {
      put(values[k++], 4 + shift, 1, -0.5, 4 + shift);
      for (int side = 0; side < 4; side++)
        if (neighbor(row, side) >= 0) put(values[k++], weight[side], 0, 0, weight[side]);
    }
    chromaflow_report report = {.size = sizeof report};
    check(chromaflow_solver_set_values(solver, chromaflow_in_f64(&values[0][0][0], (int64_t)nnzb * NB * NB),
                                       chromaflow_none(), CHROMAFLOW_ROW_MAJOR, NULL));
    check(chromaflow_solver_solve(solver, chromaflow_in_f64(b, ROWS * NB), chromaflow_out_f64(x, ROWS * NB), &report));
    printf("%d iterations, x(1) = %.16e\n", (int)report.iterations, x[0]);
    if (report.outcome != CHROMAFLOW_CONVERGED) return 1;
  }
  chromaflow_solver_destroy(solver);
  chromaflow_context_destroy(context);
  return 0;
}
