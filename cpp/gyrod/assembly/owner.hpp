#pragma once

#include <atomic>

namespace gyrod {

// Which thread uses a workspace: one at a time, which may come again while it is inside (an event reads the motion).
class Owner {
public:
  // False: another thread is inside.
  [[nodiscard]] bool enter() {
    const void* nobody = nullptr;
    if (!thread_.compare_exchange_strong(nobody, me(), std::memory_order_acquire) && nobody != me()) return false;
    ++depth_;
    return true;
  }
  void leave() {
    if (--depth_ == 0) thread_.store(nullptr, std::memory_order_release);
  }
  // Whether the calling thread is inside.
  bool mine() const { return thread_.load(std::memory_order_relaxed) == me(); }

private:
  static const void* me() {
    thread_local char here;
    return &here;
  }
  std::atomic<const void*> thread_{nullptr};
  int depth_ = 0; // of the thread that is inside
};

} // namespace gyrod
