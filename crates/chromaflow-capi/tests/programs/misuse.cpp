// Misuse through the C++ header: exceptions with status and place; what moves, views and logs do.
#include <algorithm>
#include <array>
#include <chromaflow.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <malloc.h>
#include <stdexcept>
#include <thread>

static int failures = 0;

template <class F> void expect(int line, chromaflow_status wanted, const char *fragment, F &&job) {
  try {
    job();
  } catch (const chromaflow::error &e) {
    if (e.status() == wanted && std::string(e.what()).find(fragment) != std::string::npos) return;
    std::fprintf(stderr, "line %d: status %d: %s\n", line, e.status(), e.what());
    failures++;
    return;
  }
  std::fprintf(stderr, "line %d: nothing was thrown\n", line);
  failures++;
}
#define EXPECT(status, fragment, ...) expect(__LINE__, CHROMAFLOW_##status, fragment, [&] { __VA_ARGS__; })

static std::size_t held() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// New values and a solve a thousand times: no memory stays with any of them.
static void updates(chromaflow::solver &solver, const std::vector<double> &values, const std::vector<double> &b, int count) {
  std::vector<double> x(b.size());
  std::size_t before = 0;
  for (int i = 0; i < count; i++) {
    if (i == 10) before = held();
    solver.set_values(values);
    std::fill(x.begin(), x.end(), 0.0);
    if (solver.solve(b, x).outcome != chromaflow::outcome::converged) failures++;
  }
  if (held() > before + 4096) failures++, std::fprintf(stderr, "%zu bytes became %zu\n", before, held());
}

// Any argument: for memory checkers, which are slow.
int main(int argc, char **) {
  const std::array<unsigned long, 4> row_ptr{0, 2, 5, 7}; // as SU2 has them
  const std::vector<unsigned long> col_idx{0, 1, 1, 0, 2, 2, 1};
  const std::vector<double> d{4, 1, 0, 4}, o{-1, 0, 0, -1};
  std::vector<double> values;
  for (const auto &block : {d, o, d, o, o, d, o}) values.insert(values.end(), block.begin(), block.end());
  const std::vector<double> b{3, 4, 2, 3, 3, 4};
  std::vector<double> x(6);

  EXPECT(BAD_ARGUMENT, "did you mean `threads`?", chromaflow::context("threds=2"));
  std::vector<std::string> said;
  auto first = std::make_unique<chromaflow::context>("threads=2");
  first->log(CHROMAFLOW_LOG_INFO, [&](std::int32_t, const char *text) { said.push_back(text); });
  chromaflow::solver solver(*first, 2, row_ptr, col_idx);
  EXPECT(NO_VALUES, "no values", solver.solve(b, x));
  if (said.size() != 2 || said[1].find("no values") == std::string::npos) failures++;
  EXPECT(BAD_ARGUMENT, "values has 7 values, expected 28", solver.set_values(std::vector<float>(7)));
  auto bad = values;
  bad[17] = std::numeric_limits<double>::quiet_NaN();
  try {
    solver.set_values(bad);
    failures++;
  } catch (const chromaflow::error &e) {
    if (e.status() != CHROMAFLOW_NOT_FINITE || e.row() != 1 || e.col() != 2) failures++;
  }
  EXPECT(BAD_PATTERN, "column 7 is outside",
         chromaflow::solver(*first, 2, row_ptr, std::vector<unsigned long>{0, 1, 1, 0, 7, 2, 1}));
  EXPECT(BAD_ARGUMENT, "share memory", solver.apply(x, x));
  solver.set_values(values);
  EXPECT(BAD_ARGUMENT, "r has 5 values, expected 6", solver.apply(chromaflow::view<const double>(b.data(), 5), x));
  EXPECT(UNSUPPORTED, "r lies on a device",
         solver.apply(chromaflow::view<const double>(b.data(), b.size(), chromaflow::place::cuda), x));
  auto infinite = b;
  infinite[3] = std::numeric_limits<double>::infinity();
  EXPECT(NOT_FINITE, "b[3] is inf", solver.solve(infinite, x));
  first.reset(); // the solver keeps what it needs
  chromaflow::solver moved = std::move(solver);
  EXPECT(BAD_ARGUMENT, "solver is NULL", solver.option("restart", "30")); // NOLINT: moved from on purpose
  const auto report = moved.solve(chromaflow::view<const double>(b.data(), 6), chromaflow::view<double>(x.data(), 6));
  if (report.outcome != chromaflow::outcome::converged || std::abs(x[4] - 1) > 1e-9) failures++;
  if (report.history.size() != static_cast<std::size_t>(report.iterations) + 1) failures++;

  // Several right-hand sides, and functions that throw.
  std::vector<double> two(b), both(12);
  for (double v : b) two.push_back(2 * v);
  const auto reports = moved.solve_many(2, two, both);
  if (reports.size() != 2 || reports[1].history.empty() || std::abs(both[10] - 2 * both[4]) > 1e-9) failures++;
  EXPECT(BAD_ARGUMENT, "b has 12 values, expected 18", moved.solve_many(3, two, both));
  std::int64_t told = 0;
  moved.monitor([&](std::int64_t iteration, double) {
    told = iteration;
    return true;
  });
  moved.option("tolerance", "1e-14");
  std::fill(x.begin(), x.end(), 0.0);
  if (moved.solve(b, x).iterations < 2 || told == 0) failures++;
  moved.monitor({});
  moved.matrix_free([](auto, auto) { throw std::length_error("mine"); });
  try {
    moved.solve(b, x);
    failures++;
  } catch (const std::length_error &e) {
    if (std::string(e.what()) != "mine") failures++;
  }
  std::vector<double> z_of_second(6);
  moved.matrix_free([&](auto from, auto to) { // a second thread on the handle, while this one solves
    std::thread([&] { EXPECT(BAD_ARGUMENT, "one call at a time", moved.apply(b, z_of_second)); }).join();
    std::copy(from.data(), from.data() + from.size(), to.data());
  });
  moved.solve(b, x);
  moved.matrix_free({});
  updates(moved, values, b, argc == 1 ? 1010 : 20);
  EXPECT(BAD_ARGUMENT, "exchange or reduce is NULL", moved.distribute({}, {}));

  // A ring of three rows on one rank: the third couples with the first, and it with the third, through ghosts.
  chromaflow::context context;
  chromaflow::solver ring(context, 1, std::vector<int>{0, 3, 6, 9}, std::vector<int>{0, 1, 3, 0, 1, 2, 1, 2, 4},
                          "policy=d,sweeps=3,preconditioner=jacobi", chromaflow::base::zero, 2);
  ring.set_values(std::vector<double>{4, -1, -1, -1, 4, -1, -1, 4, -1});
  std::vector<double> r{2, 2, 2}, z(3);
  EXPECT(BAD_ARGUMENT, "2 ghost columns", ring.solve(r, z));
  ring.distribute(
      [](int phase, chromaflow::view<double> v, int) {
        if (phase == 1) v.data()[3] = v.data()[2], v.data()[4] = v.data()[0];
      },
      [](chromaflow::view<double>) {});
  ring.multiply(r, z);
  if (z[0] != 4 || z[1] != 4 || z[2] != 4) failures++;
  z.assign(3, 0.0);
  if (ring.solve(r, z).outcome != chromaflow::outcome::converged || std::abs(z[2] - 1) > 1e-9) failures++;
  ring.distribute([](int, chromaflow::view<double>, int) { throw std::length_error("cut"); }, [](chromaflow::view<double>) {});
  try {
    ring.multiply(r, z);
    failures++;
  } catch (const std::length_error &) {
  }

  chromaflow::lines lines(context, {1, 2, 1});
  std::vector<double> f{1, 1};
  lines.solve_once(std::vector<double>{0, -1}, std::vector<double>{2, 2}, std::vector<double>{-1, 0}, f);
  if (std::abs(f[0] - 1) > 1e-15 || std::abs(f[1] - 1) > 1e-15) failures++;
  return failures != 0;
}
