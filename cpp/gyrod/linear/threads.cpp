#include "gyrod/linear/threads.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace gyrod {

struct Threads::Pool {
  explicit Pool(int count) {
    for (int k = 1; k < count; ++k) workers_.emplace_back([this] { serve(); });
  }
  ~Pool() {
    left_.store(over, std::memory_order_release);
    left_.notify_all();
    for (std::thread& w : workers_) w.join();
  }
  void run(std::size_t parts, Work work, void* of) {
    if (!parts) return;
    work_ = work, of_ = of, parts_ = parts, done_.store(0, std::memory_order_relaxed);
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

  Work work_ = nullptr;
  void* of_ = nullptr;
  std::size_t parts_ = 0, failed_ = 0;
  std::exception_ptr error_;
  std::mutex mutex_;
  alignas(64) std::atomic<std::uint32_t> left_{0}; // parts that nobody has taken
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::vector<std::thread> workers_;
};

Threads::Threads(int count) : pool_(std::make_unique<Pool>(count)) {}
Threads::~Threads() = default;
void Threads::work(std::size_t parts, Work work, void* of) { pool_->run(parts, work, of); }

} // namespace gyrod
