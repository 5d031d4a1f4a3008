// GMRES around BAIJ ILU(k) of PETSc on a system in PETSc's binary format.
// usage: petsc_ksp FILE NB [natural|rcm|...] [levels] [restart] [tolerance]
// Prints: petsc ORDERING LEVELS iterations relative_residual factor_ms solve_ms apply_ms  (CPU times, least of 3)
#include <petscksp.h>
#include <algorithm>
#include <ctime>
#define CK(x) do { if (x) { fprintf(stderr, "PETSc error at line %d\n", __LINE__); exit(1); } } while (0)

static double cpu() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}

int main(int argc, char **argv) {
    CK(PetscInitializeNoArguments());
    const char *file = argv[1];
    const int nb = atoi(argv[2]);
    const char *ordering = argc > 3 ? argv[3] : "natural";
    const int levels = argc > 4 ? atoi(argv[4]) : 0, restart = argc > 5 ? atoi(argv[5]) : 200;
    const double tolerance = argc > 6 ? atof(argv[6]) : 1e-10;
    PetscViewer in;
    Mat a;
    Vec b, x, r;
    CK(PetscViewerBinaryOpen(PETSC_COMM_SELF, file, FILE_MODE_READ, &in));
    CK(PetscViewerBinarySetSkipOptions(in, PETSC_TRUE));
    CK(MatCreate(PETSC_COMM_SELF, &a));
    CK(MatSetType(a, MATSEQBAIJ));
    CK(MatSetBlockSize(a, nb));
    CK(MatLoad(a, in));
    CK(VecCreate(PETSC_COMM_SELF, &b));
    CK(VecLoad(b, in));
    CK(PetscViewerDestroy(&in));
    CK(VecDuplicate(b, &x));
    CK(VecDuplicate(b, &r));

    double factor = 1e30, solve = 1e30, apply = 1e30, residual = 0, norm = 0;
    PetscInt iterations = 0;
    for (int repeat = 0; repeat < 3; repeat++) {
        KSP ksp;
        PC pc;
        CK(KSPCreate(PETSC_COMM_SELF, &ksp));
        CK(KSPSetOperators(ksp, a, a));
        CK(KSPSetType(ksp, KSPGMRES));
        CK(KSPGMRESSetRestart(ksp, restart));
        CK(KSPSetPCSide(ksp, PC_RIGHT));   // the residual that is watched is the true one
        CK(KSPSetTolerances(ksp, tolerance, 0, 1e30, 2000));
        CK(KSPGetPC(ksp, &pc));
        CK(PCSetType(pc, PCILU));
        CK(PCFactorSetLevels(pc, levels));
        CK(PCFactorSetMatOrderingType(pc, ordering));
        CK(KSPSetUp(ksp));
        // The numeric phase alone: values that have changed, on a pattern that has not.
        for (int i = 0; i < 3; i++) {
            const PetscInt first = 0;
            PetscScalar value;
            CK(MatGetValues(a, 1, &first, 1, &first, &value));
            CK(MatSetValues(a, 1, &first, 1, &first, &value, INSERT_VALUES));
            CK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
            CK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
            CK(KSPSetOperators(ksp, a, a));
            const double start = cpu();
            CK(PCSetUp(pc));
            factor = std::min(factor, cpu() - start);
        }
        for (int i = 0; i < 20; i++) {
            const double start = cpu();
            CK(PCApply(pc, b, x));
            apply = std::min(apply, cpu() - start);
        }
        CK(VecSet(x, 0));
        const double start = cpu();
        CK(KSPSolve(ksp, b, x));
        solve = std::min(solve, cpu() - start);
        CK(KSPGetIterationNumber(ksp, &iterations));
        CK(MatMult(a, x, r));
        CK(VecAYPX(r, -1.0, b));
        CK(VecNorm(r, NORM_2, &residual));
        CK(VecNorm(b, NORM_2, &norm));
        CK(KSPDestroy(&ksp));
    }
    printf("petsc %s %d %d %.3e %.2f %.2f %.3f\n", ordering, levels, (int)iterations, residual / norm, factor, solve, apply);
    CK(PetscFinalize());
}
