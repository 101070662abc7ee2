#include "gyrod/time/signal.hpp"

#include <algorithm>
#include <cstdio>

namespace gyrod {

std::string told(double x, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

Signal::Signal(std::shared_ptr<Source> source, std::vector<double> map)
    : source_(std::move(source)), map_(std::move(map)),
      size_(map_.empty() ? source_->size() : map_.size() / source_->size()) {
  if (!map_.empty() && size_ * source_->size() != map_.size()) throw std::invalid_argument("a map of a wrong size");
}

void Signal::bound(Least least, std::string field, std::string label) {
  least_ = least, field_ = std::move(field), label_ = std::move(label);
}

void Signal::values(double t, double* out) const {
  if (!source_) {
    std::copy(constant_.begin(), constant_.end(), out);
    return;
  }
  const double* x = source_->values(t);
  const std::size_t n = source_->size();
  for (std::size_t i = 0; i < size_; ++i) {
    if (map_.empty()) {
      out[i] = x[i];
    } else {
      out[i] = 0.0;
      for (std::size_t j = 0; j < n; ++j) out[i] += map_[i * n + j] * x[j];
    }
    if (least_ != Least::any) check(t, out[i]);
  }
}

void Signal::jets(double t, Jet* out) const {
  if (!source_) {
    std::copy(constant_.begin(), constant_.end(), out);
    return;
  }
  const Jet* x = source_->jets(t);
  const std::size_t n = source_->size();
  for (std::size_t i = 0; i < size_; ++i) {
    if (map_.empty()) {
      out[i] = x[i];
    } else {
      out[i] = {0.0};
      for (std::size_t j = 0; j < n; ++j) out[i] = out[i] + Jet(map_[i * n + j]) * x[j];
    }
    if (least_ != Least::any) check(t, out[i].x);
  }
}

void Signal::check(double t, double x) const {
  if (least_ == Least::not_negative ? x >= 0.0 : x > 0.0) return;
  const char* wanted =
      least_ == Least::not_negative ? " must not be negative, got " : " must be a positive finite number, got ";
  throw SignalError(label_ + " raised ValueError at t = " + told(t) + ": " + field_ + wanted + told(x) + ".");
}

} // namespace gyrod
