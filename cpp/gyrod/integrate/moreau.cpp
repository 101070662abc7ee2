#include "gyrod/integrate/moreau.hpp"

#include <limits>
#include <string>

#include "gyrod/linear/dense.hpp"

namespace gyrod {
namespace {
using V3 = Vec3<double>;

constexpr int sweeps = 60, most_sweeps = 1800, newtons = 30, separations = 100;
constexpr double close_enough = 1e-13;                  // of the largest impulse
constexpr double unseen = 1e-5;                         // if it grows no less; where bodies are held many times over
constexpr double lost = 1e-3;                           // from where on there is no solution
constexpr std::size_t newton_rows = 600, few_rows = 96; // whose last digits cost little

// The impulse at one contact: D is its part of W, r = q and what others do.
void local(const double D[3][3], const double r[3], double mu, double P[3]) {
  P[0] = P[1] = P[2] = 0.0;
  if (r[0] >= 0.0) return;
  // Without the normal row, which is zero where it touches: S P_t + s.
  const double S11 = D[1][1] - D[1][0] * D[0][1] / D[0][0], S12 = D[1][2] - D[1][0] * D[0][2] / D[0][0],
               S22 = D[2][2] - D[2][0] * D[0][2] / D[0][0];
  const double s1 = r[1] - D[1][0] * r[0] / D[0][0], s2 = r[2] - D[2][0] * r[0] / D[0][0];
  const auto at = [&](double slip) { // P_t = -w_t/slip; how far it is over the limit
    const double a = S11 + slip, c = S22 + slip, det = a * c - S12 * S12;
    P[1] = -(c * s1 - S12 * s2) / det, P[2] = -(a * s2 - S12 * s1) / det;
    P[0] = -(r[0] + D[0][1] * P[1] + D[0][2] * P[2]) / D[0][0];
    return std::hypot(P[1], P[2]) - mu * P[0];
  };
  const double size = S11 + S22;
  if (at(1e-15 * size) <= 0.0) return; // it sticks
  double low = 0.0, high = size;
  for (int k = 0; k < 60 && at(high) > 0.0; ++k) low = high, high *= 4.0;
  double f_low = at(low + 1e-15 * size), f_high = at(high);
  int side = 0;
  for (int k = 0; k < 100 && high - low > 1e-15 * high; ++k) {
    double x = (f_low * high - f_high * low) / (f_low - f_high);
    if (!(x > low && x < high) || k % 4 == 3) x = 0.5 * (low + high);
    const double f = at(x);
    if (f == 0.0) return;
    if (f > 0.0) {
      low = x, f_low = f;
      if (side > 0) f_high *= 0.5;
      side = 1;
    } else {
      high = x, f_high = f;
      if (side < 0) f_low *= 0.5;
      side = -1;
    }
  }
  at(high);
}
} // namespace

void Impulses::resize(std::size_t rows) {
  n_ = rows;
  if (W_.size() < rows * rows) W_.resize(rows * rows);
  for (std::vector<double>* x : {&w_, &F_, &trial_, &best_})
    if (x->size() < rows) x->resize(rows);
}

double Impulses::sweep(const std::vector<Contact>& contacts, const double* q, double part, double* P) {
  double change = 0.0, largest = 0.0;
  for (const Contact& c : contacts) {
    double r[3] = {}, D[3][3] = {}, next[3] = {};
    for (int k = 0; k < c.rows; ++k) {
      r[k] = q[c.at + std::size_t(k)];
      for (std::size_t j = 0; j < n_; ++j) r[k] += W_[j * n_ + c.at + std::size_t(k)] * P[j];
      for (int l = 0; l < c.rows; ++l) {
        D[k][l] = W_[(c.at + std::size_t(l)) * n_ + c.at + std::size_t(k)];
        r[k] -= D[k][l] * P[c.at + std::size_t(l)];
      }
    }
    if (c.rows == 3)
      local(D, r, c.friction, next);
    else
      next[0] = std::max(0.0, -r[0] / D[0][0]);
    for (int k = 0; k < c.rows; ++k) {
      double& p = P[c.at + std::size_t(k)];
      change = std::max(change, std::abs(next[k] - p)), largest = std::max(largest, std::abs(next[k]));
      p += part * (next[k] - p);
    }
  }
  return largest > 0.0 ? change / largest : 0.0;
}

double Impulses::residual(const std::vector<Contact>& contacts, const double* q, const double* P, bool slopes) {
  if (slopes) std::fill(J_.begin(), J_.begin() + std::ptrdiff_t(n_ * n_), 0.0);
  for (std::size_t i = 0; i < n_; ++i) {
    w_[i] = q[i];
    for (std::size_t j = 0; j < n_; ++j) w_[i] += W_[j * n_ + i] * P[j];
  }
  double largest = 0.0, size = 0.0;
  const auto put = [&](std::size_t row, double by, std::size_t column) { J_[column * n_ + row] += by; };
  const auto add_row = [&](std::size_t row, double by, std::size_t of) {
    for (std::size_t j = 0; j < n_; ++j) J_[j * n_ + row] += by * W_[j * n_ + of];
  };
  // A trace of a unit matrix: bodies may be held in more ways than they can move.
  const auto weigh = [&](std::size_t row, double rho) { put(row, 1e-13, row), add_row(row, rho, row); };
  for (const Contact& c : contacts) {
    const std::size_t i = c.at;
    const double rho = 1.0 / W_[i * n_ + i], pressed = P[i] - rho * w_[i];
    F_[i] = pressed > 0.0 ? rho * w_[i] : P[i];
    if (slopes) pressed > 0.0 ? weigh(i, rho) : put(i, 1.0, i);
    for (int k = 0; k < c.rows; ++k) size = std::max(size, std::abs(P[i + std::size_t(k)]));
    if (c.rows == 3) {
      const double along = 2.0 / (W_[(i + 1) * n_ + i + 1] + W_[(i + 2) * n_ + i + 2]);
      const double a = P[i + 1] - along * w_[i + 1], b = P[i + 2] - along * w_[i + 2], T = std::hypot(a, b);
      const double limit = c.friction * std::max(pressed, 0.0);
      if (pressed <= 0.0) {
        for (std::size_t k = i + 1; k < i + 3; ++k) {
          F_[k] = P[k];
          if (slopes) put(k, 1.0, k);
        }
      } else if (T <= limit) {
        for (std::size_t k = i + 1; k < i + 3; ++k) {
          F_[k] = along * w_[k];
          if (slopes) weigh(k, along);
        }
      } else {
        const double d[2] = {a / T, b / T};
        for (std::size_t k = 0; k < 2; ++k) {
          const std::size_t row = i + 1 + k;
          F_[row] = P[row] - limit * d[k];
          if (!slopes) continue;
          put(row, 1.0, row);
          put(row, -c.friction * d[k], i), add_row(row, c.friction * rho * d[k], i);
          for (std::size_t l = 0; l < 2; ++l) {
            const double turn = limit / T * ((k == l) - d[k] * d[l]);
            put(row, -turn, i + 1 + l), add_row(row, turn * along, i + 1 + l);
          }
        }
      }
    }
    for (int k = 0; k < c.rows; ++k) largest = std::max(largest, std::abs(F_[i + std::size_t(k)]));
  }
  return size > 0.0 ? largest / size : largest;
}

// Whole steps as long as they come nearer; P is the nearest.
bool Impulses::newton(const std::vector<Contact>& contacts, const double* q, double* P, double& left) {
  if (J_.size() < n_ * n_) J_.resize(n_ * n_), pivots_.resize(n_);
  std::copy(P, P + n_, trial_.begin());
  int worse = 0;
  for (int k = 0; k < newtons && worse < 6; ++k) {
    const double here = residual(contacts, q, trial_.data(), true);
    if (here < left) {
      left = here, worse = 0;
      std::copy_n(trial_.begin(), n_, P);
    } else if (k > 0)
      ++worse;
    if (left <= close_enough && here > 0.5 * left && k > 0) break; // rounding
    if (here == 0.0 || !factor_dense(int(n_), J_.data(), pivots_.data())) break;
    solve_dense(int(n_), J_.data(), pivots_.data(), F_.data());
    for (std::size_t i = 0; i < n_; ++i) trial_[i] -= F_[i];
  }
  return left <= close_enough;
}

bool Impulses::solve(const std::vector<Contact>& contacts, const double* q, double* P) {
  double left = 0.0, before = std::numeric_limits<double>::infinity();
  for (int k = 1; k <= most_sweeps; ++k) {
    // Where bodies are held in more ways than they can move, whole corrections may pass on for ever what none can have.
    const double change = sweep(contacts, q, k <= sweeps ? 1.0 : 0.5, P);
    if (change > 1e-10 && k % sweeps != 0) continue;
    left = residual(contacts, q, P, false);
    if (left <= 1e-9 && n_ > few_rows) return true;
    if (n_ <= newton_rows && newton(contacts, q, P, left)) return true;
    if (left <= 1e-10) return true;
    if (!std::isfinite(left)) return false;
    // Forces that hold each other without moving anything creep to their limits: what is left is not seen.
    if (left <= unseen && left > 0.5 * before) return true;
    before = left;
  }
  return left <= lost;
}

void Impulses::separate(const std::vector<Contact>& contacts, const double* gaps, double* P) const {
  std::fill(P, P + n_, 0.0);
  double deepest = 0.0;
  for (std::size_t i = 0; i < contacts.size(); ++i) deepest = std::max(deepest, -gaps[i]);
  for (int k = 0; k < separations; ++k) {
    double change = 0.0;
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      const std::size_t at = contacts[i].at;
      const double own = W_[at * n_ + at];
      double gap = gaps[i];
      for (const Contact& c : contacts) gap += W_[c.at * n_ + at] * P[c.at];
      const double next = std::max(0.0, P[at] - gap / own);
      change = std::max(change, std::abs(next - P[at]) * own);
      P[at] = next;
    }
    if (change <= 1e-3 * deepest) return;
  }
}

// --- steps

namespace {
// Axes of the rows of a contact: the normal and two tangents.
struct Axes {
  V3 axis[3];
  explicit Axes(const V3& n) {
    int least = 0;
    for (int k = 1; k < 3; ++k)
      if (std::abs(n[k]) < std::abs(n[least])) least = k;
    V3 e = V3::Zero();
    e[least] = 1.0;
    const V3 a = n.cross(e);
    axis[0] = n, axis[1] = a / a.norm(), axis[2] = n.cross(axis[1]);
  }
};
} // namespace

Moreau::Moreau(Equations& e, const StepOptions& o)
    : Integrator(e, o), theta_(o.theta), y_old_(n_), y_m_(n_), f_(n_), b_(n_), v_(n_) {
  if (!(o.step > 0.0)) throw std::invalid_argument("moreau needs a step");
  if (o.roles.size() != n_) throw std::invalid_argument("moreau has to know what are velocities");
}

bool Moreau::advance() {
  double h = options_.step;
  if (too_small(h)) return false;
  const bool last = t_ + 1.0001 * h >= t_end_;
  if (last) h = t_end_ - t_;
  const double inside = t_ + theta_ * h;
  y_old_ = y_;
  if (!prepare(inside, h)) return false;
  if (!touching_.empty()) collide(inside, h);
  for (std::size_t i = 0; i < n_; ++i) b_[i] = (theta_ * v_[i] - (2.0 * theta_ - 1.0) * y_m_[i]) / (1.0 - theta_);
  for (std::size_t i = 0; i < n_; ++i)
    if (!is(i, StepOptions::velocity)) b_[i] = y_m_[i];
  rhs(inside, b_.data(), f_.data());
  for (std::size_t i = 0; i < n_; ++i)
    y_[i] = is(i, StepOptions::position)   ? y_m_[i] + h * (1.0 - theta_) * f_[i]
            : is(i, StepOptions::velocity) ? v_[i]
                                           : y_m_[i];
  if (!touching_.empty()) account(inside);
  t_old_ = t_, t_ = last ? t_end_ : t_ + h;
  equations_.project(t_, y_.data());
  if (!touching_.empty()) part(h);
  ++stats_.steps;
  return true;
}

void Moreau::dense(double* rows) {
  for (std::size_t i = 0; i < n_; ++i) {
    const bool jumps = is(i, StepOptions::force); // it is that of the step
    rows[i] = jumps ? y_[i] : y_old_[i], rows[n_ + i] = y_[i] - rows[i];
  }
}

const double* Moreau::with(const std::vector<double>& y, const double* v) {
  for (std::size_t i = 0; i < n_; ++i) b_[i] = !is(i, StepOptions::velocity) ? y[i] : v ? v[i] : 0.0;
  return b_.data();
}

// The configuration in the step, what touches there, the matrix, and velocities without impulses.
bool Moreau::prepare(double t, double h) {
  rhs(t_, y_.data(), f_.data());
  for (std::size_t i = 0; i < n_; ++i) y_m_[i] = is(i, StepOptions::position) ? y_[i] + theta_ * h * f_[i] : y_[i];
  equations_.project(t, y_m_.data());
  touching_.clear(), contacts_.clear();
  equations_.impacts(t, y_m_.data(), options_.step, touching_);
  std::size_t rows = 0;
  for (const Impact& m : touching_) {
    const double n = m.normal.dot(m.velocity), slip2 = m.velocity.squaredNorm() - n * n;
    const double mu = m.kinetic + (m.friction - m.kinetic) * std::exp(-slip2 / (m.stribeck * m.stribeck));
    contacts_.push_back({rows, m.friction > 0.0 ? 3 : 1, mu});
    rows += std::size_t(contacts_.back().rows);
  }
  impulses_.resize(rows);
  if (P_.size() < rows) q_.resize(rows), P_.resize(rows), gaps_.resize(rows), none_.resize(rows);
  // Where the impulses begin are those of the last step.
  for (std::size_t i = 0; i < touching_.size(); ++i) {
    const Axes axes(touching_[i].normal);
    const V3 F = Part<3>::of(&y_m_[touching_[i].at]);
    for (int k = 0; k < contacts_[i].rows; ++k) P_[contacts_[i].at + std::size_t(k)] = h * axes.axis[k].dot(F);
  }
  for (std::size_t i = 0; i < n_; ++i)
    if (is(i, StepOptions::force)) y_m_[i] = 0.0;
  equations_.jacobian(t, y_m_.data());
  ++stats_.jacobians, ++stats_.factorizations;
  if (!equations_.factor(1.0 / (theta_ * h))) return false;
  rhs(t, y_m_.data(), f_.data());
  for (std::size_t i = 0; i < n_; ++i) b_[i] = is(i, StepOptions::velocity) ? f_[i] / theta_ : 0.0;
  equations_.solve(b_.data());
  ++stats_.solves;
  for (std::size_t i = 0; i < n_; ++i) v_[i] = y_m_[i] + b_[i];
  return true;
}

// A^-1 G' and W, row by row of the contacts.
void Moreau::find_columns(double t, double h) {
  const double shift = 1.0 / (theta_ * h);
  const std::size_t last = contacts_.size() - 1, rows = contacts_[last].at + std::size_t(contacts_[last].rows);
  if (columns_.size() < rows * n_) columns_.resize(rows * n_);
  seen_ = touching_;
  const auto look = [&](double* out, const double* less) {
    for (std::size_t i = 0; i < touching_.size(); ++i) {
      const Axes axes(touching_[i].normal);
      for (int k = 0; k < contacts_[i].rows; ++k) {
        const std::size_t row = contacts_[i].at + std::size_t(k);
        out[row] = axes.axis[k].dot(seen_[i].velocity) - (less ? less[row] : 0.0);
      }
    }
  };
  equations_.revisit(t, with(y_m_, nullptr), seen_);
  look(none_.data(), nullptr);
  for (std::size_t i = 0; i < touching_.size(); ++i) {
    const Axes axes(touching_[i].normal);
    for (int k = 0; k < contacts_[i].rows; ++k) {
      const std::size_t row = contacts_[i].at + std::size_t(k);
      double* column = columns_.data() + row * n_;
      std::fill(column, column + n_, 0.0);
      Part<3>::put(column + touching_[i].at, V3(shift * shift * axes.axis[k]));
      equations_.solve(column);
      ++stats_.solves;
      equations_.revisit(t, with(y_m_, column), seen_);
      look(impulses_.column(row), none_.data());
    }
  }
  equations_.revisit(t, with(y_m_, v_.data()), seen_);
  look(q_.data(), nullptr);
}

void Moreau::collide(double t, double h) {
  find_columns(t, h);
  for (std::size_t i = 0; i < touching_.size(); ++i) {
    const Impact& m = touching_[i];
    double& free = q_[contacts_[i].at];
    const double before = m.normal.dot(m.velocity);
    // What is no faster than two steps of what presses make it is at rest: it would bounce for ever.
    const bool hits = before < -std::max(m.slow, 2.0 * (before - free));
    if (m.gap <= m.slack)
      free += hits ? m.restitution * before : 0.0;
    else // it may come down in this step, or, if it is fast, hit in the next one
      free += hits ? std::abs(free) : m.gap / (theta_ * h);
  }
  if (!impulses_.solve(contacts_, q_.data(), P_.data()))
    throw std::runtime_error("the impulses of " + std::to_string(touching_.size()) +
                             " points that touch could not be found; take a smaller step, or contact that yields, with "
                             "stiffness and method = 'radau5'.");
  for (std::size_t i = 0; i < touching_.size(); ++i) {
    const Axes axes(touching_[i].normal);
    V3 F = V3::Zero();
    for (int k = 0; k < contacts_[i].rows; ++k) {
      const std::size_t row = contacts_[i].at + std::size_t(k);
      const double P = P_[row], *column = columns_.data() + row * n_;
      F += P / h * axes.axis[k];
      for (std::size_t j = 0; j < n_; ++j)
        if (is(j, StepOptions::velocity)) v_[j] += P * column[j];
    }
    Part<3>::put(&y_m_[touching_[i].at], F);
  }
}

// What impulses have taken: they act with the mean of the velocities before and after.
void Moreau::account(double t) {
  equations_.revisit(t, with(y_m_, v_.data()), seen_);
  const double h = (t - t_) / theta_;
  for (std::size_t i = 0; i < touching_.size(); ++i) {
    const Impact& m = touching_[i];
    const V3 P = h * Part<3>::of(&y_[m.at]), mean = 0.5 * (m.velocity + seen_[i].velocity);
    const double all = P.dot(mean), across = P.dot(m.normal) * mean.dot(m.normal);
    y_[m.at + 3] -= all - across, y_[m.at + 4] -= across;
    y_[m.at + 5] += P.dot(0.5 * (m.carried + seen_[i].carried));
  }
}

// What overlaps and will not part by itself in the next step is moved.
void Moreau::part(double h) {
  seen_ = touching_;
  equations_.revisit(t_, y_.data(), seen_);
  bool overlaps = false;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const Impact& m = seen_[i];
    gaps_[i] = m.gap + h * std::max(0.0, m.normal.dot(m.velocity));
    overlaps = overlaps || gaps_[i] < -0.1 * m.slack;
  }
  if (!overlaps) return;
  impulses_.separate(contacts_, gaps_.data(), P_.data());
  std::fill(v_.begin(), v_.end(), 0.0);
  for (const Impulses::Contact& c : contacts_)
    for (std::size_t j = 0; j < n_ && P_[c.at] > 0.0; ++j) v_[j] += P_[c.at] * columns_[c.at * n_ + j];
  rhs(t_, with(y_, nullptr), f_.data());
  for (std::size_t i = 0; i < n_; ++i) y_m_[i] = f_[i];
  rhs(t_, with(y_, v_.data()), f_.data());
  for (std::size_t i = 0; i < n_; ++i)
    if (is(i, StepOptions::position)) y_[i] += f_[i] - y_m_[i];
  equations_.project(t_, y_.data());
}

} // namespace gyrod
