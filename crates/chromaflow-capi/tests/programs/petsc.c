/* Misuse through PETSc: what the plugin refuses comes back as PETSc's own errors with our text; new values a thousand times take no memory.
 *
 *   program -dll_append libpc_chromaflow.so
 *   program MATRIX RESULT -dll_append libpc_chromaflow.so    z = M b of a matrix of PETSc's, b(i) = sin(0.37 i), block ILU(0) as given, in f64 */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>
#include <petscksp.h>
#include <string.h>

static char said[4096];
static int failures;

static PetscErrorCode remember(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type,
                               const char *text, void *context) {
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) snprintf(said, sizeof said, "%s", text);
  return code;
}

static void expect(int line, PetscErrorCode code, const char *fragment) {
  if (code != 0 && strstr(said, fragment)) return;
  failures++;
  fprintf(stderr, "line %d: code %d, text: %s\n", line, (int)code, said);
}
#define EXPECT(fragment, call) (said[0] = '\0', expect(__LINE__, call, fragment))
#define GOOD(call) \
  do { \
    if (call) failures++, fprintf(stderr, "line %d: %s\n", __LINE__, said); \
  } while (0)

static PC preconditioner(Mat a, const char *options) {
  PC pc;
  GOOD(PCCreate(PETSC_COMM_SELF, &pc));
  GOOD(PCSetOperators(pc, a, a));
  GOOD(PetscOptionsSetValue(NULL, "-pc_chromaflow", options));
  GOOD(PCSetType(pc, "chromaflow"));
  return pc;
}

static void refused(Mat a, const char *options, const char *fragment) {
  PC pc = preconditioner(a, options);
  EXPECT(fragment, PCSetUp(pc));
  GOOD(PCDestroy(&pc));
}

/* Three rows of blocks of two, the second without a diagonal block if `lacks`. */
static Mat small(const char *type, double diagonal, int lacks) {
  Mat a;
  GOOD(MatCreate(PETSC_COMM_SELF, &a));
  GOOD(MatSetSizes(a, 6, 6, 6, 6));
  GOOD(MatSetBlockSize(a, 2));
  GOOD(MatSetType(a, type));
  GOOD(MatSetUp(a));
  for (PetscInt row = 0; row < 3; row++)
    for (PetscInt col = 0; col < 3; col++) {
      const double on = row == col ? diagonal : -1;
      const PetscScalar block[4] = {on, row == col, 0, on};
      if (!(lacks && row == 1 && col == 1)) GOOD(MatSetValuesBlocked(a, 1, &row, 1, &col, block, INSERT_VALUES));
    }
  GOOD(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  GOOD(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  return a;
}

static void misuse(void) {
  Mat a = small(MATSEQDENSE, 4, 0);
  refused(a, "policy=d", "Chromaflow takes BAIJ and AIJ");
  GOOD(MatDestroy(&a));
  a = small(MATSEQBAIJ, 4, 1);
  refused(a, "policy=d", "row 1 has no diagonal block");
  GOOD(MatDestroy(&a));
  a = small(MATSEQBAIJ, NAN, 0);
  refused(a, "policy=d", "block row 0, block column 0: entry (0, 0)");
  GOOD(MatDestroy(&a));
  a = small(MATSEQAIJ, 4, 0);
  refused(a, "preconditoner=ilu0", "did you mean `preconditioner`?");
  refused(a, "threads=0", "expected a whole number from 1");

  PC pc = preconditioner(a, "policy=d");
  Vec b, z, wrong;
  GOOD(MatCreateVecs(a, &b, &z));
  GOOD(VecCreateSeq(PETSC_COMM_SELF, 4, &wrong));
  GOOD(VecSet(b, 1));
  GOOD(VecSet(wrong, 1));
  GOOD(PCSetUp(pc));
  EXPECT("", PCApply(pc, wrong, z)); /* by PETSc itself */
  GOOD(VecSet(b, NAN)); /* comes out as it went in: PETSc's method ends by its own test */
  GOOD(PCApply(pc, b, z));
  GOOD(VecSet(b, 1));
  /* Values that fail leave nothing behind: the next ones are taken. */
  GOOD(MatScale(a, 0));
  GOOD(PCSetReusePreconditioner(pc, PETSC_FALSE));
  EXPECT("row 0", PCSetUp(pc));
  GOOD(MatShift(a, 4));
  GOOD(PCSetUp(pc));
  GOOD(PCApply(pc, b, z));
  PetscReal norm = 0;
  GOOD(VecNorm(z, NORM_INFINITY, &norm));
  if (fabs(norm - 0.25) > 1e-15) failures++, fprintf(stderr, "norm %g\n", norm);
  GOOD(VecDestroy(&b));
  GOOD(VecDestroy(&z));
  GOOD(VecDestroy(&wrong));
  GOOD(PCDestroy(&pc));
  GOOD(MatDestroy(&a));
}

static size_t held(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static void updates(const char *type) {
  Mat a = small(type, 4, 0);
  Vec b, x;
  KSP ksp;
  size_t before = 0;
  GOOD(MatCreateVecs(a, &b, &x));
  GOOD(VecSet(b, 1));
  GOOD(KSPCreate(PETSC_COMM_SELF, &ksp));
  PC pc;
  GOOD(KSPGetPC(ksp, &pc));
  GOOD(PetscOptionsSetValue(NULL, "-pc_chromaflow", "policy=ds"));
  GOOD(PCSetType(pc, "chromaflow"));
  GOOD(KSPSetOperators(ksp, a, a));
  for (int i = 0; i < 1010; i++) {
    if (i == 10) before = held();
    GOOD(MatScale(a, 1 + 1e-6));
    GOOD(KSPSolve(ksp, b, x));
  }
  if (held() > before + 16384) failures++, fprintf(stderr, "%s: %zu bytes became %zu\n", type, before, held());
  GOOD(KSPDestroy(&ksp));
  GOOD(VecDestroy(&b));
  GOOD(VecDestroy(&x));
  GOOD(MatDestroy(&a));
}

static void apply(const char *matrix, const char *result) {
  Mat a;
  Vec b, z;
  PetscViewer viewer;
  PetscInt n;
  PetscScalar *v;
  const PetscScalar *got;
  GOOD(PetscViewerBinaryOpen(PETSC_COMM_SELF, matrix, FILE_MODE_READ, &viewer));
  GOOD(MatCreate(PETSC_COMM_SELF, &a));
  GOOD(MatSetType(a, MATSEQBAIJ));
  GOOD(MatLoad(a, viewer));
  GOOD(PetscViewerDestroy(&viewer));
  GOOD(MatCreateVecs(a, &z, &b));
  GOOD(VecGetLocalSize(b, &n));
  GOOD(VecGetArray(b, &v));
  for (PetscInt i = 0; i < n; i++) v[i] = sin(i * 0.37);
  GOOD(VecRestoreArray(b, &v));
  PC pc = preconditioner(a, "preconditioner=ilu0,order=natural,policy=d");
  GOOD(PCApply(pc, b, z));
  GOOD(VecGetArrayRead(z, &got));
  FILE *file = fopen(result, "wb");
  if (!file || fwrite(got, sizeof *got, n, file) != (size_t)n || fclose(file)) failures++;
  GOOD(VecRestoreArrayRead(z, &got));
  GOOD(PCDestroy(&pc));
  GOOD(VecDestroy(&b));
  GOOD(VecDestroy(&z));
  GOOD(MatDestroy(&a));
}

int main(int argc, char **argv) {
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscPushErrorHandler(remember, NULL));
  if (argc > 4) apply(argv[1], argv[2]);
  else misuse(), updates(MATSEQBAIJ), updates(MATSEQAIJ);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsClear(NULL));
  return PetscFinalize() || failures != 0;
}
