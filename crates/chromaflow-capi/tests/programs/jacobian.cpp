// A system of a file through the C++ header: the arguments and files of jacobian.c.
#include <chromaflow.hpp>
#include <cstdint>
#include <fstream>
#include <vector>

template <class T> static std::vector<T> read(std::ifstream &file, std::size_t count) {
  std::vector<T> values(count);
  file.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return values;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  const auto sizes = read<std::int32_t>(file, 3);
  const std::size_t rows = sizes[0], nb = sizes[1], nnzb = sizes[2], n = rows * nb;
  const auto row_ptr = read<std::int32_t>(file, rows + 1), col_idx = read<std::int32_t>(file, nnzb);
  const auto values = read<double>(file, nnzb * nb * nb), b = read<double>(file, n);
  std::vector<double> result(1 + 2 * n);

  chromaflow::context context("threads=1");
  chromaflow::solver solver(context, sizes[1], row_ptr, col_idx, argv[2]);
  solver.set_values(values);
  const auto report = solver.solve(b, chromaflow::view<double>(result.data() + 1, n));
  solver.apply(b, chromaflow::view<double>(result.data() + 1 + n, n));
  result[0] = static_cast<double>(report.iterations);
  std::ofstream to(argv[3], std::ios::binary);
  to.write(reinterpret_cast<const char *>(result.data()), static_cast<std::streamsize>(result.size() * sizeof(double)));
  return to.good() ? 0 : 4;
}
