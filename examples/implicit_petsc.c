/* The system of implicit.c in a program that knows PETSc alone: which preconditioner it uses is said on its command line.
 *
 *   implicit_petsc -dll_append libpc_chromaflow.so -pc_type chromaflow -pc_chromaflow "preconditioner=ilu0" */
#include <petscksp.h>

enum { N = 40, ROWS = N * N, NB = 2 };

static int neighbor(int row, int side) {
  const int i = row % N + (side == 2) - (side == 0), j = row / N + (side == 3) - (side == 1);
  return i < 0 || j < 0 || i == N || j == N ? -1 : j * N + i;
}

int main(int argc, char **argv) {
  const PetscScalar weight[4] = {-1.2, -1.1, -0.8, -0.9}, shifts[3] = {10.0, 1.0, 0.1};
  Mat a;
  Vec b, x;
  KSP ksp;
  PetscInt iterations;
  KSPConvergedReason reason;
  const PetscScalar *values;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, NB, ROWS * NB, ROWS * NB, 5, NULL, &a));
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetFromOptions(ksp));
  for (int step = 0; step < 3; step++) {
    for (int row = 0; row < ROWS; row++) {
      const PetscScalar diagonal[NB * NB] = {4 + shifts[step], 1, -0.5, 4 + shifts[step]};
      PetscCall(MatSetValuesBlocked(a, 1, &row, 1, &row, diagonal, INSERT_VALUES));
      for (int side = 0; side < 4; side++) {
        const int col = neighbor(row, side); /* a column of -1 is left out */
        const PetscScalar block[NB * NB] = {weight[side], 0, 0, weight[side]};
        PetscCall(MatSetValuesBlocked(a, 1, &row, 1, &col, block, INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, a, a));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_SELF, PETSC_ERR_NOT_CONVERGED, "reason %d", (int)reason);
    PetscCall(VecGetArrayRead(x, &values));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d iterations, x(1) = %.8e\n", (int)iterations, values[0]));
    PetscCall(VecRestoreArrayRead(x, &values));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  return PetscFinalize();
}
