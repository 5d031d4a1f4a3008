// Chromaflow for C++17: the handles of chromaflow.h as values that move and clean up, arrays as views, errors as exceptions.
// Header only: nothing of C++ crosses into the library. chromaflow.h says what each function does.
#ifndef CHROMAFLOW_HPP
#define CHROMAFLOW_HPP
#include "chromaflow.h"
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace chromaflow {

// What went wrong: what() says it with its remedy. Block row and column as the index arrays number them, or -1.
class error : public std::runtime_error {
public:
  error(chromaflow_status status, const std::string &text, std::int64_t row, std::int64_t col)
      : std::runtime_error(text), status_(status), row_(row), col_(col) {}
  chromaflow_status status() const noexcept { return status_; }
  std::int64_t row() const noexcept { return row_; }
  std::int64_t col() const noexcept { return col_; }

private:
  chromaflow_status status_;
  std::int64_t row_, col_;
};

// This thread's last error, thrown where a status says that there is one.
inline void check(chromaflow_status status) {
  if (status == CHROMAFLOW_OK) return;
  std::string text(chromaflow_error_text(nullptr, 0), '\0');
  chromaflow_error_text(&text[0], text.size() + 1);
  std::int64_t row, col;
  chromaflow_error_place(&row, &col);
  throw error(status, text, row, col);
}

enum class place : std::int32_t { host = CHROMAFLOW_HOST, cuda = CHROMAFLOW_CUDA };
enum class layout : std::int32_t { column_major = CHROMAFLOW_COLUMN_MAJOR, row_major = CHROMAFLOW_ROW_MAJOR };
enum class base : std::int32_t { zero = 0, one = 1 };
enum class outcome : std::int32_t {
  converged = CHROMAFLOW_CONVERGED,
  iteration_limit = CHROMAFLOW_ITERATION_LIMIT,
  stagnated = CHROMAFLOW_STAGNATED,
  diverged = CHROMAFLOW_DIVERGED,
  breakdown = CHROMAFLOW_BREAKDOWN,
  stopped = CHROMAFLOW_STOPPED
};

// The number by which the library knows a type of entries.
template <class T> constexpr std::int32_t type_of() {
  using U = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic<U>::value && (sizeof(U) == 4 || sizeof(U) == 8), "integers and floats of 32 or 64 bits");
  if (std::is_floating_point<U>::value) return sizeof(U) == 8 ? CHROMAFLOW_F64 : CHROMAFLOW_F32;
  if (std::is_signed<U>::value) return sizeof(U) == 8 ? CHROMAFLOW_I64 : CHROMAFLOW_I32;
  return sizeof(U) == 8 ? CHROMAFLOW_U64 : CHROMAFLOW_U32;
}

// Entries somewhere in memory: of anything with data() and size(), or of a pointer and a length.
template <class T> class view {
public:
  view(T *data, std::size_t len, place where = place::host) : data_(data), len_(len), place_(where) {}
  template <class C, class = decltype(std::declval<C &>().data())>
  view(C &&list) : view(list.data(), list.size()) {} // NOLINT: converts on purpose
  T *data() const { return data_; }
  std::size_t size() const { return len_; }
  chromaflow_array in() const {
    return {data_, static_cast<std::int64_t>(len_), type_of<T>(), static_cast<std::int32_t>(place_)};
  }
  template <class U = T, class = std::enable_if_t<!std::is_const<U>::value>> chromaflow_array_mut out() const {
    return {data_, static_cast<std::int64_t>(len_), type_of<T>(), static_cast<std::int32_t>(place_)};
  }

private:
  T *data_;
  std::size_t len_;
  place place_;
};

namespace detail {
struct destroy {
  void operator()(chromaflow_context *p) const { chromaflow_context_destroy(p); }
  void operator()(chromaflow_comm *p) const { chromaflow_comm_destroy(p); }
  void operator()(chromaflow_solver *p) const { chromaflow_solver_destroy(p); }
  void operator()(chromaflow_lines *p) const { chromaflow_lines_destroy(p); }
};
template <class T> using handle = std::unique_ptr<T, destroy>;
template <class C> using entry = std::remove_pointer_t<decltype(std::declval<const C &>().data())>;
template <class C> auto in(const C &list) { return view<const entry<C>>(list.data(), list.size()).in(); }
template <class T> chromaflow_array in(const view<T> &list) { return list.in(); }
template <class C> auto out(C &list) { return view<std::remove_const_t<entry<C>>>(list.data(), list.size()).out(); }
template <class T> chromaflow_array_mut out(const view<T> &list) { return list.out(); }
} // namespace detail

// Threads or a GPU: "threads=8", "device=0".
class context {
public:
  explicit context(const std::string &options = "", void *stream = nullptr) {
    chromaflow_context *made = nullptr;
    check(chromaflow_context_create(options.c_str(), stream, &made));
    handle_.reset(made);
  }
  // Messages up to this level. The function lives as long as the context and must not throw.
  void log(std::int32_t level, std::function<void(std::int32_t, const char *)> listener) {
    auto kept = std::make_unique<std::function<void(std::int32_t, const char *)>>(std::move(listener));
    check(chromaflow_context_log(
        handle_.get(), level,
        [](void *user, std::int32_t level, const char *text) {
          (*static_cast<std::function<void(std::int32_t, const char *)> *>(user))(level, text);
        },
        kept.get()));
    listener_ = std::move(kept);
  }
  ~context() {
    if (handle_) chromaflow_context_log(handle_.get(), 0, nullptr, nullptr); // solvers may live longer than the listener
  }
  context(context &&) = default;
  context &operator=(context &&other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(listener_, other.listener_);
    return *this;
  }
  chromaflow_context *get() const { return handle_.get(); }

private:
  detail::handle<chromaflow_context> handle_;
  std::unique_ptr<std::function<void(std::int32_t, const char *)>> listener_;
};

// The ranks of a program that has called MPI_Init: of MPI_COMM_WORLD, or of a communicator by MPI_Comm_c2f(comm).
class comm {
public:
  explicit comm(const std::string &options = "") { make(nullptr, options); }
  explicit comm(std::int32_t mpi, const std::string &options = "") { make(&mpi, options); }
  int rank() const { return place().first; }
  int size() const { return place().second; }
  chromaflow_comm *get() const { return handle_.get(); }

private:
  void make(const std::int32_t *mpi, const std::string &options) {
    chromaflow_comm *made = nullptr;
    check(chromaflow_comm_create(mpi, options.c_str(), &made));
    handle_.reset(made);
  }
  std::pair<int, int> place() const {
    std::int32_t rank = 0, size = 0;
    check(chromaflow_comm_place(handle_.get(), &rank, &size));
    return {rank, size};
  }
  detail::handle<chromaflow_comm> handle_;
};

struct report {
  chromaflow::outcome outcome;
  std::int64_t iterations;
  double residual, seconds;
  std::vector<double> history;
};

// A block-sparse matrix and a method to solve with it. ghosts: columns behind the rows, which are rows of other ranks.
class solver {
public:
  template <class P, class C>
  solver(const context &where, std::int32_t nb, const P &row_ptr, const C &col_idx, const std::string &options = "",
         base first = base::zero, std::int64_t ghosts = 0) {
    const chromaflow_pattern pattern = described(nb, row_ptr, col_idx, first, ghosts);
    chromaflow_solver *made = nullptr;
    check(chromaflow_solver_create(where.get(), &pattern, options.c_str(), &made));
    handle_.reset(made);
  }
  // The rows from first_row on of a matrix that all ranks have together, columns in global numbers.
  template <class P, class C>
  solver(const context &where, const comm &ranks, std::int64_t first_row, std::int32_t nb, const P &row_ptr, const C &col_idx,
         const std::string &options = "", base first = base::zero) {
    const chromaflow_pattern pattern = described(nb, row_ptr, col_idx, first, 0);
    chromaflow_solver *made = nullptr;
    check(chromaflow_solver_create_over_ranks(where.get(), ranks.get(), &pattern, first_row, options.c_str(), &made));
    handle_.reset(made);
  }
  void option(const std::string &key, const std::string &value) {
    check(chromaflow_solver_option(handle_.get(), key.c_str(), value.c_str()));
  }
  template <class V> chromaflow_set_report set_values(const V &values, layout order = layout::column_major) {
    return set(detail::in(values), chromaflow_none(), order);
  }
  // Of a pattern without diagonal blocks.
  template <class V, class D>
  chromaflow_set_report set_values(const V &values, const D &diagonal, layout order) {
    return set(detail::in(values), detail::in(diagonal), order);
  }
  template <class B, class X> report solve(const B &b, X &&x) {
    chromaflow_report found{};
    found.size = sizeof found;
    settle(chromaflow_solver_solve(handle_.get(), detail::in(b), detail::out(x), &found));
    return of(found);
  }
  // Several right-hand sides, one after the other in b; GMRES on a host solves eight of them at once.
  template <class B, class X> std::vector<report> solve_many(std::int64_t count, const B &b, X &&x) {
    chromaflow_report empty{};
    empty.size = sizeof empty;
    std::vector<chromaflow_report> found(static_cast<std::size_t>(count < 0 ? 0 : count), empty);
    settle(chromaflow_solver_solve_many(handle_.get(), count, detail::in(b), detail::out(x), found.data()));
    std::vector<report> reports;
    for (const auto &one : found) reports.push_back(of(one));
    return reports;
  }
  template <class R, class Z> void apply(const R &r, Z &&z) {
    settle(chromaflow_solver_apply(handle_.get(), detail::in(r), detail::out(z)));
  }
  template <class X, class Y> void multiply(const X &x, Y &&y) {
    settle(chromaflow_solver_multiply(handle_.get(), detail::in(x), detail::out(y)));
  }

  // Functions of yours; what they throw ends the call and comes out of it. An empty function takes them back.
  //
  // product(x, y): y = A x; solves iterate with it, pattern and values only precondition.
  void matrix_free(std::function<void(view<const double>, view<double>)> product) {
    const auto call = [](void *user, chromaflow_array x, chromaflow_array_mut y) {
      auto &own = *static_cast<callers *>(user);
      return own.run([&] { own.product(seen(x), seen(y)); });
    };
    check(chromaflow_solver_operator(handle_.get(), product ? +call : nullptr, callers_.get()));
    callers_->product = std::move(product);
  }
  // exchange(phase, x, nb): fills the ghosts of x [rows + ghosts, nb], phase 0 begins and 1 ends; sum(values): over all ranks.
  void distribute(std::function<void(int, view<double>, int)> exchange, std::function<void(view<double>)> sum) {
    const auto call = [](void *user, std::int32_t phase, chromaflow_array_mut x, std::int32_t nb) {
      auto &own = *static_cast<callers *>(user);
      return own.run([&] { own.exchange(phase, seen(x), nb); });
    };
    const auto add = [](void *user, double *values, std::int32_t n) {
      auto &own = *static_cast<callers *>(user);
      return own.run([&] { own.sum(view<double>(values, static_cast<std::size_t>(n))); });
    };
    check(chromaflow_solver_distribute(handle_.get(), exchange ? +call : nullptr, sum ? +add : nullptr, callers_.get()));
    callers_->exchange = std::move(exchange);
    callers_->sum = std::move(sum);
  }
  // tell(iteration, residual): after each iteration; false ends the solve, whose outcome is `stopped`.
  void monitor(std::function<bool(std::int64_t, double)> tell) {
    const auto call = [](void *user, std::int64_t iteration, double residual) {
      auto &own = *static_cast<callers *>(user);
      bool more = false;
      const std::int32_t status = own.run([&] { more = own.tell(iteration, residual); });
      return status != 0 || !more ? 1 : 0;
    };
    check(chromaflow_solver_monitor(handle_.get(), tell ? +call : nullptr, callers_.get()));
    callers_->tell = std::move(tell);
  }
  chromaflow_solver *get() const { return handle_.get(); }

private:
  template <class P, class C>
  static chromaflow_pattern described(std::int32_t nb, const P &row_ptr, const C &col_idx, base first, std::int64_t ghosts) {
    chromaflow_pattern pattern{};
    pattern.size = sizeof pattern;
    pattern.rows = static_cast<std::int64_t>(row_ptr.size()) - 1;
    pattern.nb = nb;
    pattern.base = static_cast<std::int32_t>(first);
    pattern.ghosts = ghosts;
    pattern.row_ptr = detail::in(row_ptr);
    pattern.col_idx = detail::in(col_idx);
    return pattern;
  }
  chromaflow_set_report set(chromaflow_array values, chromaflow_array diagonal, layout order) {
    chromaflow_set_report found{};
    found.size = sizeof found;
    check(chromaflow_solver_set_values(handle_.get(), values, diagonal, static_cast<std::int32_t>(order), &found));
    return found;
  }
  static report of(const chromaflow_report &found) {
    return {static_cast<outcome>(found.outcome), found.iterations, found.residual, found.seconds,
            std::vector<double>(found.history, found.history + found.history_len)};
  }
  struct callers {
    std::function<void(view<const double>, view<double>)> product;
    std::function<void(int, view<double>, int)> exchange;
    std::function<void(view<double>)> sum;
    std::function<bool(std::int64_t, double)> tell;
    std::exception_ptr failure;
    template <class J> std::int32_t run(J &&job) noexcept {
      try {
        job();
        return 0;
      } catch (...) {
        if (!failure) failure = std::current_exception();
        return 1;
      }
    }
  };
  static view<const double> seen(chromaflow_array x) {
    return {static_cast<const double *>(x.data), static_cast<std::size_t>(x.len)};
  }
  static view<double> seen(chromaflow_array_mut x) {
    return {static_cast<double *>(x.data), static_cast<std::size_t>(x.len)};
  }
  // An exception of the caller's own before ours.
  void settle(chromaflow_status status) {
    if (callers_->failure) std::rethrow_exception(std::exchange(callers_->failure, nullptr));
    check(status);
  }
  std::unique_ptr<callers> callers_ = std::make_unique<callers>(); // longer than what calls them
  detail::handle<chromaflow_solver> handle_;
};

// A batch of block tridiagonal systems; all strides 0 for arrays one after the other.
class lines {
public:
  struct shape {
    std::int64_t lines, rows;
    std::int32_t rank;
    bool periodic = false;
    std::int64_t line = 0, row = 0, entry = 0;
  };
  lines(const context &where, const shape &given, const std::string &options = "") {
    chromaflow_shape s{};
    s.size = sizeof s;
    s.lines = given.lines, s.rows = given.rows, s.rank = given.rank, s.periodic = given.periodic;
    s.line = given.line, s.row = given.row, s.entry = given.entry;
    chromaflow_lines *made = nullptr;
    check(chromaflow_lines_create(where.get(), &s, options.c_str(), &made));
    handle_.reset(made);
  }
  template <class A> void factor(const A &lower, const A &diag, const A &upper) {
    check(chromaflow_lines_factor(handle_.get(), detail::in(lower), detail::in(diag), detail::in(upper)));
  }
  template <class F> void solve(F &&f) { check(chromaflow_lines_solve(handle_.get(), detail::out(f))); }
  template <class A, class F> void solve_once(const A &lower, const A &diag, const A &upper, F &&f) {
    check(chromaflow_lines_solve_once(handle_.get(), detail::in(lower), detail::in(diag), detail::in(upper), detail::out(f)));
  }

private:
  detail::handle<chromaflow_lines> handle_;
};

} // namespace chromaflow
#endif
