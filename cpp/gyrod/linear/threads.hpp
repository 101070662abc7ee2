// Threads that share the work of one step. Who has work divides it into parts that do not depend on the number of
// threads, and that write to different places: results are the same bits whatever that number is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace gyrod {

class Threads {
public:
  // The caller's and others, which wait until there is work.
  explicit Threads(int count) {
    for (int k = 1; k < count; ++k) workers_.emplace_back([this] { serve(); });
  }
  ~Threads() {
    left_.store(over, std::memory_order_release);
    left_.notify_all();
    for (std::thread& w : workers_) w.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // f(k) for k = 0 to parts - 1, each once, on any of the threads. Of several exceptions that of the first part is
  // thrown again. Nothing is allocated.
  template <class F> void run(std::size_t parts, F&& f) {
    if (!parts) return;
    work_ = [](void* of, std::size_t k) { (*static_cast<std::remove_reference_t<F>*>(of))(k); };
    of_ = &f, parts_ = parts, done_.store(0, std::memory_order_relaxed);
    left_.store(std::uint32_t(parts), std::memory_order_release);
    left_.notify_all();
    while (take()) {
    }
    for (std::uint32_t done; (done = done_.load(std::memory_order_acquire)) != parts;)
      if (!spin([&] { return done_.load(std::memory_order_relaxed) != done; })) done_.wait(done);
    if (std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  }

private:
  static constexpr std::uint32_t over = ~std::uint32_t(0);

  // One part of the work that is there now; a thread that comes late finds none, or takes one of the next.
  bool take() {
    std::uint32_t left = left_.load(std::memory_order_relaxed);
    do
      if (!left || left == over) return false;
    while (!left_.compare_exchange_weak(left, left - 1, std::memory_order_acquire, std::memory_order_relaxed));
    const std::size_t parts = parts_, part = parts - left; // as they are until this part is done
    try {
      work_(of_, part);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_ || part < failed_) error_ = std::current_exception(), failed_ = part;
    }
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts) done_.notify_one();
    return true;
  }
  void serve() {
    for (;;) {
      while (take()) {
      }
      if (left_.load(std::memory_order_relaxed) == over) return;
      if (!spin([&] { return left_.load(std::memory_order_relaxed) != 0; })) left_.wait(0);
    }
  }
  // Whether it comes true soon: the next work of a step follows within microseconds.
  template <class F> static bool spin(F&& true_now) {
    for (int k = 0; k < 1000; ++k) {
      if (true_now()) return true;
#if defined(__x86_64__) && defined(__GNUC__)
      __builtin_ia32_pause();
#endif
    }
    return false;
  }

  void (*work_)(void*, std::size_t) = nullptr;
  void* of_ = nullptr;
  std::size_t parts_ = 0, failed_ = 0;
  std::exception_ptr error_;
  std::mutex mutex_;
  alignas(64) std::atomic<std::uint32_t> left_{0}; // parts that nobody has taken
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::vector<std::thread> workers_;
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
