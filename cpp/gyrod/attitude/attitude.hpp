// Rotation from sampled angular velocity: batch, between the samples, and one sample at a time.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "gyrod/attitude/magnus.hpp"
#include "gyrod/attitude/stencil.hpp"

namespace gyrod {

// A signal known at n times: n samples, or n - 1 increments (integrals from one time to the next).
struct Signal {
  const double* t;
  const double* values; // (n, 3) or (n - 1, 3)
  std::size_t n;
  bool increments;
  double step; // > 0 if the times are uniform to rounding, 0 otherwise

  std::size_t count() const { return increments ? n - 1 : n; }
};

// The values that serve interval i: `size` of them from `first`. `final`: more data at the end would change
// nothing.
struct Window {
  std::size_t first;
  int size;
  bool final;
};

// Neighbouring steps that differ from the interval's own by more than this factor end the window: high-order
// interpolation across a gap in the data would be worse than none.
inline constexpr double regular = 4.0;

// Centred where possible: samples as many left as right of the interval; increments one more before it than
// after.
inline Window window(const Signal& s, std::size_t i, int points) {
  const std::size_t full = std::size_t(s.increments && points == 2 ? 1 : points), count = s.count();
  const std::size_t left = s.increments ? full / 2 : full / 2 - 1;
  const std::size_t own = s.increments ? 1 : 2; // values that belong to the interval itself
  std::size_t lo = i > full ? i - full : 0, hi = std::min(i + own + full, count);
  bool gap = false; // on the right
  if (!(s.step > 0)) {
    const double h = s.t[i + 1] - s.t[i];
    const auto fits = [&](std::size_t k) { // interval k
      const double d = s.t[k + 1] - s.t[k];
      return d <= regular * h && h <= regular * d;
    };
    for (std::size_t k = i; k > lo; --k)
      if (!fits(k - 1)) lo = k;
    for (std::size_t k = i + 1; k + 1 < s.n && k + own <= hi; ++k)
      if (!fits(k)) {
        hi = k + own - 1, gap = true;
        break;
      }
  }
  const std::size_t size = std::min(full, hi - lo), wanted = std::max(lo, i > left ? i - left : 0);
  const std::size_t first = std::min(wanted, hi - size);
  return {first, int(size), gap || (size == full && first == wanted)};
}

// Weights for the part [from, to] of interval i, fractions of it; times are read unless the signal is
// uniform.
template <int Points> StencilWeights weights(const Signal& s, std::size_t i, Window w, double from, double to) {
  double node[max_points + 1];
  const int nodes = w.size + (s.increments ? 1 : 0);
  const double h = s.step > 0 ? s.step : s.t[i + 1] - s.t[i], scale = 1.0 / h;
  for (int k = 0; k < nodes; ++k)
    node[k] = s.step > 0 ? double(w.first + k) - double(i) : (s.t[w.first + k] - s.t[i]) * scale;
  const auto compute = [&]<int Fixed>(std::integral_constant<int, Fixed>) {
    return s.increments ? increment_weights<Fixed>(node, w.size, from, to)
                        : sample_weights<Fixed>(node, w.size, from, to);
  };
  StencilWeights result =
      w.size == Points ? compute(std::integral_constant<int, Points>{}) : compute(std::integral_constant<int, 0>{});
  if (!s.increments)
    for (auto& row : result.w)
      for (double& c : row) c *= h;
  return result;
}

inline Moments moments(const StencilWeights& c, const double* values, int size) {
  double b[3][3] = {};
  for (int m = 0; m < 3; ++m)
    for (int k = 0; k < size; ++k)
      for (int d = 0; d < 3; ++d) b[m][d] += c.w[m][k] * values[3 * k + d];
  return {{b[0][0], b[0][1], b[0][2]}, {b[1][0], b[1][1], b[1][2]}, {b[2][0], b[2][1], b[2][2]}};
}

enum class Side { body = -1, space = 1 };

inline Quat advance(Quat q, Quat dq, Side side) { return side == Side::body ? multiply(q, dq) : multiply(dq, q); }

// The rotation over the part [from, to] of interval i.
template <class Method> Quat increment(const Signal& s, std::size_t i, double from, double to, Side side) {
  const Window w = window(s, i, Method::points);
  const Moments m = moments(weights<Method::points>(s, i, w, from, to), s.values + 3 * w.first, w.size);
  return Method::quaternion(Method::vector(m, double(int(side))));
}

// Quaternions at all n times. Uniform signals go through the interior in blocks: the moments are convolutions
// of the flat array of values, the Magnus terms and exponentials vector code; only the products are
// sequential.
template <class Method> void integrate(const Signal& s, Quat q, Side side, double* out) {
  constexpr int block = 64;
  const auto store = [&](std::size_t i) {
    double* o = out + 4 * i;
    o[0] = q.w, o[1] = q.x, o[2] = q.y, o[3] = q.z;
  };
  store(0);
  if (s.n < 2) return;
  const std::size_t intervals = s.n - 1, count = s.count();
  const auto one = [&](std::size_t i) {
    q = normalize(advance(q, increment<Method>(s, i, 0.0, 1.0, side), side));
    store(i + 1);
  };
  std::size_t i = 0;
  const int full = s.increments && Method::points == 2 ? 1 : Method::points;
  if (s.step > 0 && count > std::size_t(full) + block) {
    // Interior: the intervals whose window is not cut off by an end.
    const std::size_t middle = count / 2;
    const std::size_t left = middle - window(s, middle, Method::points).first;
    const std::size_t last = count - full + left; // window of `last` ends with the data
    const StencilWeights c = weights<Method::points>(s, middle, {middle - left, full, true}, 0.0, 1.0);
    for (; i < left; ++i) one(i);
    double b[3][3 * block];
    double dq[4][block];
    for (; i + block <= last + 1 && i + block <= intervals; i += block) {
      const double* v = s.values + 3 * (i - left);
      for (int m = 0; m < 3; ++m) {
        double* bm = b[m];
        for (int f = 0; f < 3 * block; ++f) {
          double sum = 0.0;
          for (int k = 0; k < full; ++k) sum += c.w[m][k] * v[f + 3 * k];
          bm[f] = sum;
        }
      }
      double largest = 0.0;
      Triple r[block];
      for (int l = 0; l < block; ++l) {
        const Moments m{{b[0][3 * l], b[0][3 * l + 1], b[0][3 * l + 2]},
                        {b[1][3 * l], b[1][3 * l + 1], b[1][3 * l + 2]},
                        {b[2][3 * l], b[2][3 * l + 1], b[2][3 * l + 2]}};
        r[l] = Method::vector(m, double(int(side)));
        largest = std::max(largest, dot(r[l], r[l]));
      }
      const bool series = largest <= Method::series_limit;
      if (series) {
        for (int l = 0; l < block; ++l) {
          const Quat p = Method::quaternion_series(r[l]);
          dq[0][l] = p.w, dq[1][l] = p.x, dq[2][l] = p.y, dq[3][l] = p.z;
        }
      }
      for (int l = 0; l < block; ++l) {
        q = advance(q, series ? Quat{dq[0][l], dq[1][l], dq[2][l], dq[3][l]} : Method::quaternion(r[l]), side);
        if (l % 8 == 7) q = normalize(q);
        store(i + l + 1);
      }
    }
  }
  for (; i < intervals; ++i) one(i);
}

// The interval that holds `time` (the first or last one outside).
inline std::size_t locate(const Signal& s, double time) {
  const std::size_t i = std::size_t(std::upper_bound(s.t, s.t + s.n, time) - s.t);
  return std::clamp<std::size_t>(i, 1, s.n - 1) - 1;
}

// Quaternion at any time, from the quaternions at the samples: the same polynomial over a part of an
// interval.
template <class Method> Quat evaluate(const Signal& s, const double* quaternions, double time, Side side) {
  const std::size_t i = locate(s, time);
  const double* o = quaternions + 4 * i;
  const double part = (time - s.t[i]) / (s.t[i + 1] - s.t[i]);
  return normalize(advance({o[0], o[1], o[2], o[3]}, increment<Method>(s, i, 0.0, part, side), side));
}

// The interpolated angular velocity at a time: moment b0 is its integral, so evaluate the polynomial itself.
inline Triple interpolate(const Signal& s, int points, double time) {
  const std::size_t i = locate(s, time);
  const Window w = window(s, i, points);
  double node[max_points + 1];
  const int nodes = w.size + (s.increments ? 1 : 0);
  const double h = s.t[i + 1] - s.t[i], x = (time - s.t[i]) / h;
  for (int k = 0; k < nodes; ++k) node[k] = (s.t[w.first + k] - s.t[i]) / h;
  double c[max_points + 1] = {};
  for (int k = 0; k < nodes; ++k) {
    if (!s.increments) {
      c[k] = 1.0;
      for (int j = 0; j < nodes; ++j)
        if (j != k) c[k] *= (x - node[j]) / (node[k] - node[j]);
    } else { // derivative of the Lagrange polynomial of the primitive
      for (int m = 0; m < nodes; ++m) {
        if (m == k) continue;
        double product = 1.0 / (node[k] - node[m]);
        for (int j = 0; j < nodes; ++j)
          if (j != k && j != m) product *= (x - node[j]) / (node[k] - node[j]);
        c[k] += product;
      }
      c[k] /= h;
    }
  }
  if (s.increments) { // from weights of the primitive to weights of the increments
    double tail = 0.0;
    for (int k = w.size; k > 0; --k) {
      tail += c[k];
      c[k] = tail;
    }
    std::copy(c + 1, c + nodes, c);
  }
  Triple r{0, 0, 0};
  for (int k = 0; k < w.size; ++k) {
    const double* v = s.values + 3 * (w.first + k);
    r = r + c[k] * Triple{v[0], v[1], v[2]};
  }
  return r;
}

// One sample at a time. An interval is final as soon as its window is full, half a stencil later; the results
// are then those of the batch. Before that, `latest` extrapolates nothing but uses the one-sided window of
// the end.
template <class Method> class Stream {
public:
  Stream(Quat initial, Side side, bool increments) : q_(initial), side_(side), increments_(increments) {}

  // Take the next time and sample (for increments: the integral since the previous time; ignored at the
  // first). Returns how many intervals became final; their ends are appended to `t_out`, `q_out`.
  std::size_t push(double t, const double* value, std::vector<double>& t_out, std::vector<double>& q_out) {
    if (!t_.empty() && !(t > t_.back())) throw std::invalid_argument("times must increase");
    t_.push_back(t);
    if (!increments_ || t_.size() > 1) values_.insert(values_.end(), value, value + 3);
    if (t_.size() == 1 && done_ == 0 && dropped_ == 0) emit(t, q_, t_out, q_out);
    return settle(false, t_out, q_out);
  }

  // The intervals that still wait, with the one-sided windows of the end of a batch.
  std::size_t finish(std::vector<double>& t_out, std::vector<double>& q_out) { return settle(true, t_out, q_out); }

  // The attitude at the newest sample, without waiting: not final.
  Quat latest() const {
    Quat q = q_;
    if (t_.size() > 1)
      for (std::size_t i = done_; i + 1 < t_.size(); ++i)
        q = normalize(advance(q, increment<Method>(signal(), i, 0.0, 1.0, side_), side_));
    return q;
  }

  Quat settled() const { return q_; }
  std::size_t waiting() const { return t_.empty() ? 0 : t_.size() - 1 - done_; }

private:
  Signal signal() const { return {t_.data(), values_.data(), t_.size(), increments_, 0.0}; }

  static void emit(double t, Quat q, std::vector<double>& t_out, std::vector<double>& q_out) {
    t_out.push_back(t);
    q_out.insert(q_out.end(), {q.w, q.x, q.y, q.z});
  }

  std::size_t settle(bool all, std::vector<double>& t_out, std::vector<double>& q_out) {
    std::size_t settled = 0;
    while (t_.size() > 1 && done_ + 1 < t_.size()) {
      if (!all && !window(signal(), done_, Method::points).final) break;
      q_ = normalize(advance(q_, increment<Method>(signal(), done_, 0.0, 1.0, side_), side_));
      ++done_, ++settled;
      emit(t_[done_], q_, t_out, q_out);
    }
    // Keep what the next window can reach: amortised O(1), memory bounded.
    const std::size_t keep = 2 * max_points;
    if (done_ > 4 * keep) {
      const std::size_t drop = done_ - keep;
      t_.erase(t_.begin(), t_.begin() + drop);
      values_.erase(values_.begin(), values_.begin() + 3 * drop);
      done_ -= drop;
      dropped_ += drop;
    }
    return settled;
  }

  Quat q_;
  Side side_;
  bool increments_;
  std::size_t done_ = 0, dropped_ = 0; // intervals settled, samples forgotten
  std::vector<double> t_, values_;
};

} // namespace gyrod
