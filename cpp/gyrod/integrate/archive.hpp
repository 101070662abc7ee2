// State of a run as bytes: the same list of members writes it and reads it back, to the last bit.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gyrod {

class Archive {
public:
  Archive() = default;                                                              // for writing
  explicit Archive(std::string bytes) : bytes_(std::move(bytes)), reading_(true) {} // for reading

  template <class... T> void operator()(T&... members) { (member(members), ...); }

  // Elements without pointers that the compiler does not know to be so, as fixed matrices.
  template <class T> void plain(std::vector<T>& x) {
    std::size_t n = x.size();
    raw(&n, sizeof n);
    if (n != x.size()) throw std::invalid_argument("the saved state belongs to another system or method");
    raw(static_cast<void*>(x.data()), n * sizeof(T));
  }

  bool reading() const { return reading_; }
  const std::string& bytes() const { return bytes_; }
  void finish() const {
    if (reading_ && at_ != bytes_.size()) throw std::invalid_argument("the saved state is longer than this run's");
  }

private:
  template <class T> void member(T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&x, sizeof x);
  }
  template <class T> void member(std::vector<T>& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    plain(x);
  }
  void raw(void* x, std::size_t size) {
    if (!reading_) {
      bytes_.append(static_cast<const char*>(x), size);
      return;
    }
    if (size > bytes_.size() - at_) throw std::invalid_argument("the saved state is shorter than this run's");
    if (size) std::memcpy(x, bytes_.data() + at_, size);
    at_ += size;
  }

  std::string bytes_;
  std::size_t at_ = 0;
  bool reading_ = false;
};

} // namespace gyrod
