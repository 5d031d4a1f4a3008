// Two coupled unknowns on a 40 x 40 grid, three implicit steps with growing time step: pattern once, values every step.
#include <chromaflow.hpp>
#include <cstdio>
#include <vector>

constexpr int n = 40, rows = n * n, nb = 2;
constexpr double weight[4] = {-1.2, -1.1, -0.8, -0.9};

// Neighbors west, south, east, north of a row, or -1.
static int neighbor(int row, int side) {
  const int i = row % n + (side == 2) - (side == 0), j = row / n + (side == 3) - (side == 1);
  return i < 0 || j < 0 || i == n || j == n ? -1 : j * n + i;
}

int main() try {
  std::vector<int> row_ptr{0}, col_idx;
  for (int row = 0; row < rows; row++) {
    col_idx.push_back(row); // the diagonal block comes first
    for (int side = 0; side < 4; side++)
      if (neighbor(row, side) >= 0) col_idx.push_back(neighbor(row, side));
    row_ptr.push_back(static_cast<int>(col_idx.size()));
  }
  chromaflow::context context("threads=2");
  chromaflow::solver solver(context, nb, row_ptr, col_idx, "preconditioner=ilu0, policy=d");
  std::vector<double> b(rows * nb, 1.0), x(rows * nb, 0.0);
  for (const double shift : {10.0, 1.0, 0.1}) {
    std::vector<double> values; // blocks by rows
    for (int row = 0; row < rows; row++) {
      values.insert(values.end(), {4 + shift, 1, -0.5, 4 + shift});
      for (int side = 0; side < 4; side++)
        if (neighbor(row, side) >= 0) values.insert(values.end(), {weight[side], 0, 0, weight[side]});
    }
    solver.set_values(values, chromaflow::layout::row_major);
    const auto report = solver.solve(b, x);
    std::printf("%d iterations, x(1) = %.16e\n", static_cast<int>(report.iterations), x[0]);
    if (report.outcome != chromaflow::outcome::converged) return 1;
  }
  // What is wrong is said with its place.
  try {
    solver.set_values(std::vector<double>(3));
    return 1;
  } catch (const chromaflow::error &e) {
    return e.status() == CHROMAFLOW_BAD_ARGUMENT ? 0 : 1;
  }
} catch (const chromaflow::error &e) {
  std::fprintf(stderr, "status %d: %s\n", e.status(), e.what());
  return 1;
}
