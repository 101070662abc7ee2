// Threads that share the work of one step. Who has work divides it into parts that do not depend on the number of
// threads, and that write to different places: results are the same bits whatever that number is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace gyrod {

class Threads {
public:
  // The caller's and others, which wait until there is work.
  explicit Threads(int count);
  ~Threads();

  // f(k) for k = 0 to parts - 1, each once, on any of the threads. Of several exceptions that of the first part is
  // thrown again. Nothing is allocated.
  template <class F> void run(std::size_t parts, F&& f) {
    work(parts, [](void* of, std::size_t k) { (*static_cast<std::remove_reference_t<F>*>(of))(k); }, &f);
  }

private:
  using Work = void (*)(void*, std::size_t);
  void work(std::size_t parts, Work work, void* of);
  struct Pool; // not here: the headers of threads and locks take 0.3 s of each unit that sees equations
  std::unique_ptr<Pool> pool_;
};

// f(k) for all parts, in turn where there are no threads.
template <class F> void share(Threads* threads, std::size_t parts, F&& f) {
  if (threads && parts > 1) return threads->run(parts, f);
  for (std::size_t k = 0; k < parts; ++k) f(k);
}

// f(i) for i = 0 to n - 1, so many of them in a part.
template <class F> void share_all(Threads* threads, std::size_t n, std::size_t each, F&& f) {
  share(threads, (n + each - 1) / each, [&](std::size_t k) {
    for (std::size_t i = k * each, end = std::min(n, i + each); i < end; ++i) f(i);
  });
}

} // namespace gyrod
