/* Two coupled unknowns on a 40 x 40 grid, cut into strips among MPI's ranks; the program's own halo exchange plugged in. */
#include <chromaflow.h>
#include <mpi.h>
#include <stdio.h>
enum { N = 40, NB = 2, LINE = N * NB };
static int rank, ranks, rows, below, above; /* the last two are neighbors, or MPI_PROC_NULL */
static void check(chromaflow_status status) {
  char text[512];
  if (status == CHROMAFLOW_OK) return;
  chromaflow_error_text(text, sizeof text);
  MPI_Abort(MPI_COMM_WORLD, fprintf(stderr, "rank %d, status %d: %s\n", rank, (int)status, text));
}

/* x: own rows, the line of the rank below, that of the rank above. */
static int32_t exchange(void *requests, int32_t phase, chromaflow_array_mut x, int32_t nb) {
  double *own = x.data, *ghosts = own + rows * nb;
  MPI_Request *all = requests;
  if (phase == 1) return MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  MPI_Irecv(ghosts, LINE, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, all);
  MPI_Irecv(ghosts + (rank > 0 ? LINE : 0), LINE, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, all + 1);
  MPI_Isend(own, LINE, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, all + 2);
  return MPI_Isend(ghosts - LINE, LINE, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, all + 3);
}
static int32_t reduce(void *unused, double *values, int32_t n) {
  return (void)unused, MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
int main(int argc, char **argv) {
  static int32_t row_ptr[N * N + 1], col_idx[5 * N * N], nnzb;
  static double values[5 * N * N][NB][NB], b[N * LINE], x[N * LINE];
  MPI_Init(&argc, &argv), MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int lines = N * (rank + 1) / ranks - N * rank / ranks;
  below = rank > 0 ? rank - 1 : MPI_PROC_NULL, above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, rows = N * lines;
  for (int row = 0; row < rows; row_ptr[++row] = nnzb) {
    const int i = row % N, j = row / N, south = j > 0 ? row - N : rank > 0 ? rows + i : -1;
    const int north = j + 1 < lines ? row + N : rank + 1 < ranks ? rows + (rank > 0 ? N : 0) + i : -1;
    const int column[5] = {row, i > 0 ? row - 1 : -1, south, i + 1 < N ? row + 1 : -1, north};
    const double weight[5] = {4.1, -1.2, -1.1, -0.8, -0.9};
    for (int k = 0; k < 5; k++) {
      if (column[k] < 0) continue;
      values[nnzb][0][0] = values[nnzb][1][1] = weight[k], values[nnzb][0][1] = k ? 0 : 1, values[nnzb][1][0] = k ? 0 : -0.5;
      col_idx[nnzb++] = column[k];
    }
  }
  for (int i = 0; i < rows * NB; i++) b[i] = 1.0;
  MPI_Request requests[4];
  chromaflow_context *context;
  chromaflow_solver *solver;
  chromaflow_pattern pattern = {sizeof pattern, rows, NB, 0, chromaflow_in_i32(row_ptr, rows + 1),
                                chromaflow_in_i32(col_idx, nnzb), ((rank > 0) + (rank + 1 < ranks)) * N};
  chromaflow_report report = {.size = sizeof report};
  check(chromaflow_context_create(NULL, NULL, &context));
  check(chromaflow_solver_create(context, &pattern, "preconditioner=jacobi, sweeps=3, policy=d", &solver));
  check(chromaflow_solver_distribute(solver, exchange, reduce, requests));
  check(chromaflow_solver_set_values(solver, chromaflow_in_f64(&values[0][0][0], (int64_t)nnzb * NB * NB), chromaflow_none(),
                                     CHROMAFLOW_ROW_MAJOR, NULL));
  check(chromaflow_solver_solve(solver, chromaflow_in_f64(b, rows * NB), chromaflow_out_f64(x, rows * NB), &report));
  if (rank == 0) printf("%d iterations, x(1) = %.6e\n", (int)report.iterations, x[0]);
  chromaflow_solver_destroy(solver), chromaflow_context_destroy(context);
  return MPI_Finalize() || report.outcome != CHROMAFLOW_CONVERGED;
}
