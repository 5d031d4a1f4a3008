/* Two coupled unknowns on a 40 x 40 grid, cut into strips among MPI's ranks: own rows with global columns, nothing else. */
#include <chromaflow.h>
#include <mpi.h>
#include <stdio.h>
enum { N = 40, NB = 2 };
static int rank, ranks;
static void check(chromaflow_status status) {
  char text[512];
  if (status == CHROMAFLOW_OK) return;
  chromaflow_error_text(text, sizeof text);
  MPI_Abort(MPI_COMM_WORLD, fprintf(stderr, "rank %d, status %d: %s\n", rank, (int)status, text));
}

int main(int argc, char **argv) {
  static int32_t row_ptr[N * N + 1];
  static int64_t col_idx[5 * N * N], nnzb;
  static double values[5 * N * N][NB][NB], b[N * N * NB], x[N * N * NB];
  MPI_Init(&argc, &argv), MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t first = N * N * rank / ranks, end = N * N * (rank + 1) / ranks, rows = end - first;
  for (int64_t row = first; row < end; row_ptr[++row - first] = (int32_t)nnzb) {
    const int64_t i = row % N, j = row / N;
    const int64_t column[5] = {row, i > 0 ? row - 1 : -1, j > 0 ? row - N : -1, i + 1 < N ? row + 1 : -1, j + 1 < N ? row + N : -1};
    const double weight[5] = {4.1, -1.2, -1.1, -0.8, -0.9};
    for (int k = 0; k < 5; k++) {
      if (column[k] < 0) continue;
      values[nnzb][0][0] = values[nnzb][1][1] = weight[k], values[nnzb][0][1] = k ? 0 : 1, values[nnzb][1][0] = k ? 0 : -0.5;
      col_idx[nnzb++] = column[k];
    }
  }
  for (int64_t i = 0; i < rows * NB; i++) b[i] = 1.0;
  const int32_t world = MPI_Comm_c2f(MPI_COMM_WORLD); /* NULL below would say the same */
  chromaflow_context *context;
  chromaflow_comm *comm;
  chromaflow_solver *solver;
  chromaflow_pattern pattern = {sizeof pattern, rows, NB, 0, chromaflow_in_i32(row_ptr, rows + 1), chromaflow_in_i64(col_idx, nnzb), 0};
  chromaflow_report report = {.size = sizeof report};
  check(chromaflow_context_create(NULL, NULL, &context));
  check(chromaflow_comm_create(&world, "patience=60", &comm));
  const char *options = argc > 1 ? argv[1] : "preconditioner=multicolor, sweeps=2, policy=d";
  check(chromaflow_solver_create_over_ranks(context, comm, &pattern, first, options, &solver));
  check(chromaflow_solver_set_values(solver, chromaflow_in_f64(&values[0][0][0], nnzb * NB * NB), chromaflow_none(),
                                     CHROMAFLOW_ROW_MAJOR, NULL));
  check(chromaflow_solver_solve(solver, chromaflow_in_f64(b, rows * NB), chromaflow_out_f64(x, rows * NB), &report));
  if (rank == 0) printf("%d iterations, x(1) = %.6e\n", (int)report.iterations, x[0]);
  chromaflow_solver_destroy(solver), chromaflow_comm_destroy(comm), chromaflow_context_destroy(context);
  return MPI_Finalize() || report.outcome != CHROMAFLOW_CONVERGED;
}
