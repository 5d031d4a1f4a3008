/* A system of a file through the C interface: program FILE OPTIONS RESULT.
 *
 * The file: rows, block size, blocks as int32; row_ptr and col_idx from 0 as int32; blocks by columns and b as doubles. The result, in doubles:
 * iterations, x of A x = b, z = M b. */
#include <chromaflow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *bytes(FILE *file, size_t size, size_t count) {
  void *room = malloc(size * count);
  if (!room || fread(room, size, count, file) != count) exit(3);
  return room;
}

static void good(chromaflow_status status) {
  char text[512];
  if (status == CHROMAFLOW_OK) return;
  chromaflow_error_text(text, sizeof text);
  fprintf(stderr, "status %d: %s\n", (int)status, text);
  exit(1);
}

int main(int argc, char **argv) {
  FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  int32_t *sizes = bytes(file, sizeof *sizes, 3), rows = sizes[0], nb = sizes[1], nnzb = sizes[2];
  int32_t *row_ptr = bytes(file, sizeof *row_ptr, rows + 1), *col_idx = bytes(file, sizeof *col_idx, nnzb);
  const int64_t n = (int64_t)rows * nb, entries = (int64_t)nnzb * nb * nb;
  double *values = bytes(file, sizeof *values, entries), *b = bytes(file, sizeof *b, n);
  double *result = calloc(1 + 2 * n, sizeof *result);
  fclose(file);
  chromaflow_context *context = NULL;
  chromaflow_solver *solver = NULL;
  const chromaflow_pattern pattern = {sizeof pattern, rows, nb, 0, chromaflow_in_i32(row_ptr, rows + 1),
                                      chromaflow_in_i32(col_idx, nnzb), 0};
  chromaflow_report report = {.size = sizeof report};
  good(chromaflow_context_create("threads=1", NULL, &context));
  good(chromaflow_solver_create(context, &pattern, argv[2], &solver));
  good(chromaflow_solver_set_values(solver, chromaflow_in_f64(values, entries), chromaflow_none(), CHROMAFLOW_COLUMN_MAJOR, NULL));
  good(chromaflow_solver_solve(solver, chromaflow_in_f64(b, n), chromaflow_out_f64(result + 1, n), &report));
  good(chromaflow_solver_apply(solver, chromaflow_in_f64(b, n), chromaflow_out_f64(result + 1 + n, n)));
  result[0] = (double)report.iterations;
  chromaflow_solver_destroy(solver);
  chromaflow_context_destroy(context);
  file = fopen(argv[3], "wb");
  if (!file || fwrite(result, sizeof *result, 1 + 2 * n, file) != (size_t)(1 + 2 * n) || fclose(file)) return 4;
  free(sizes), free(row_ptr), free(col_idx), free(values), free(b), free(result);
  return 0;
}
