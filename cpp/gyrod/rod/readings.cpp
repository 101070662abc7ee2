#include <optional>
#include <utility>

#include "gyrod/rod/set.hpp"

namespace gyrod {

void RodSet::look(double t, const double* y) {
  looked_at_ = t, looked_ = y;
  for (auto& r : rods_) r->seen = false;
  if (tangled_) act(t, y, nullptr); // others may pull on a rod
}

const RodState<double>& RodSet::state(int index) {
  Rod& r = *rods_[std::size_t(index)];
  if (std::exchange(r.seen, true)) return r.s;
  if (!tangled_) {
    move_ends(r, looked_at_);
    r.gather<double>(r.s, looked_ + r.at);
    r.grid->forces(looked_at_, r.s, r.ends);
    hold(r, looked_at_);
  }
  release(r);                          // as the bodies were asked last
  if (!r.d.held) r.grid->publish(r.s); // held strains have done so
  return r.s;
}

RodMeasures RodSet::measures(int index) {
  const double t = looked_at_;
  Rod& r = *rods_[std::size_t(index)];
  state(index);
  RodMeasures m;
  m.strain = r.grid->strain_energy(r.s), m.curvature = r.grid->curvature_energy(r.s);
  m.dissipation = r.grid->dissipation(r.s), m.load_power = r.grid->load_power(t, r.s, r.ends);
  for (int n = 0; n <= r.N; ++n) {
    const std::size_t i = std::size_t(n);
    m.translation += 0.5 * r.d.mass[i] * r.s.v[i].squaredNorm();
    if (r.d.blended && n < r.N) m.translation += r.d.off[i] * r.s.v[i].dot(r.s.v[i + 1]);
    m.gravity -= r.d.tributary[i] * r.d.gravity.dot(r.s.x[i]);
  }
  for (std::size_t j = 0; j < r.s.w.size(); ++j) m.rotation += 0.5 * r.d.J[j].dot(r.s.w[j].tail<3>().cwiseAbs2());
  m.loads += r.grid->load_energy(t, r.s) + r.grid->centrifugal_energy(r.s);
  for (int n : r.counts) {
    const RodLink& link = links_[std::size_t(n)];
    const PointMotion ends[2] = {motion(link.ends[0]), motion(link.ends[1])};
    const LinkBudget b = std::visit([&](const auto& law) { return budget_of(law, t, ends); }, link.law);
    m.loads += b.energy, m.dissipation += b.dissipation, m.load_power += b.power;
    const LinkPush p = std::visit([&](const auto& law) { return force_of(law, t, ends); }, link.law);
    if (link.ends[0].body >= 0) m.load_power -= p.F.dot(ends[0].v) + p.M.dot(ends[0].R * ends[0].Omega);
    if (link.ends[1].body >= 0) m.load_power += p.F.dot(ends[1].v);
  }
  if (r.d.stretch && !still_) { // who changes the rest length works on the rod
    Jet g;
    r.d.stretch.jets(t, &g);
    for (std::size_t j = 0; j < r.rest.size(); ++j)
      m.load_power -= r.d.quadrature[j] * r.s.F[j][2] * g.v * r.rest[j][2];
  }
  double hold[12];
  reactions(index, hold);
  for (int e = 0; e < 2; ++e) {
    if (r.d.ends[e].held) m.end_power += Vec3<double>(hold + 6 * e).dot(r.ends[e].v);
    if (r.d.ends[e].clamped)
      m.end_power += Vec3<double>(hold + 6 * e + 3).dot(matrix_from_quaternion<double>(r.ends[e].p) * r.ends[e].Omega);
  }
  return m;
}

void RodSet::reactions(int index, double* out) {
  const double t = looked_at_;
  Rod& r = *rods_[std::size_t(index)];
  state(index);
  std::vector<Vec3<double>>&force = r.force, &a = r.falls;
  force = a = r.s.f;
  r.accelerate(r.inertial(a));
  for (int e = 0; e < 2; ++e) {
    Vec3<double> hold = Vec3<double>::Zero(), moment = Vec3<double>::Zero();
    const std::size_t n = std::size_t(e ? r.N : 0), next = e ? n - 1 : 1;
    if (r.d.ends[e].held) {
      hold = r.d.mass[n] * r.ends[e].a - force[n];
      if (r.d.blended) {
        const bool opposite = r.N == 1 && r.d.ends[1 - e].held;
        hold += r.d.off[e ? n - 1 : 0] * (opposite ? r.ends[1 - e].a : a[next]);
      }
    }
    if (r.d.ends[e].clamped) {
      Vec3<double> needed = -r.s.end_moment[e];
      if (r.d.degree && !still_) { // the frame that is held has its own inertia
        const Vec3<double>&J = r.d.J[n], &Omega = r.ends[e].Omega;
        needed += J.cwiseProduct(r.end_spin_rate(e, t)) + Omega.cross(J.cwiseProduct(Omega));
      }
      moment = matrix_from_quaternion<double>(r.ends[e].p) * needed;
    }
    Part<3>::put(out + 6 * e, hold), Part<3>::put(out + 6 * e + 3, moment);
  }
}

Vec4<double> RodSet::vertex_frame(int index, int n) const {
  const Rod& r = *rods_[std::size_t(index)];
  return r.grid->vertex_frame(r.s, r.ends, n);
}

// lambda_nu of (30), of the constraint (|p|² - 1)/2: <p, dL/dp> for each frame.
void RodSet::multipliers(int index, double* out) {
  Rod& r = *rods_[std::size_t(index)];
  state(index);
  r.grid->radial(r.s, out);
  for (std::size_t j = 0; j < r.s.w.size(); ++j) {
    const Vec3<double>& w = r.s.w[j].tail<3>();
    out[j] = -out[j] + 2.0 * w.dot(r.d.J[j].cwiseProduct(w)); // the kinetic energy has the opposite sign
  }
}

void RodSet::residual(const double* y, double& position, double& velocity) const {
  position = velocity = 0.0;
  for (const auto& r : rods_)
    for (int n = r->begin; n <= r->last; ++n) {
      if (!r->turns(n)) continue;
      const double *q = y + r->at + r->p_at[std::size_t(n)], *v = y + r->at + r->w_at[std::size_t(n)];
      double g = 0.0, rate = 0.0;
      form_.residual(q, v, options_, g, rate);
      position = std::max(position, g), velocity = std::max(velocity, rate);
    }
  for (const auto& r : rods_) {
    if (!r->d.held) continue;
    r->gather<double>(r->s, y + r->at); // ends as they were moved last
    r->grid->configuration(r->s);
    r->hold->configure(r->s);
    for (int j = 0; j < r->N; ++j) {
      position = std::max(position, r->hold->strain(j).cwiseAbs().maxCoeff());
      velocity = std::max(velocity, r->hold->strain_rate(j).cwiseAbs().maxCoeff());
    }
  }
}

// --- oracles: dual numbers in one direction at a time, quick to compile

template <class S>
GYROD_COLD void RodSet::derivative(const Rod& r, RodState<S>& s, HeldStrains<S>* held, double t, const S* y, S* dy) {
  r.gather<S>(s, y);
  r.grid->forces(t, s, r.ends);
  if (held) hold_strains<S>(r, s, *held, t, options_);
  r.finish<S>(s, y, dy, options_);
}

GYROD_COLD void RodSet::dense_jacobian_dual(double t, const double* y, double* J) {
  using D = Dual<1>;
  std::fill(J, J + size_ * size_, 0.0);
  for (auto& r : rods_) {
    move_ends(*r, t);
    RodState<D> s(r->d);
    std::optional<HeldStrains<D>> held;
    if (r->d.held) held.emplace(r->d, r->free_mass);
    std::vector<D> q(std::size_t(r->size)), dq(q.size());
    for (std::size_t c = 0; c < q.size(); ++c) {
      for (std::size_t k = 0; k < q.size(); ++k) q[k] = k == c ? D::seed(y[r->at + k], 0) : D(y[r->at + k]);
      derivative<D>(*r, s, held ? &*held : nullptr, t, q.data(), dq.data());
      for (std::size_t k = 0; k < q.size(); ++k) J[(r->at + k) * size_ + r->at + c] = dq[k].d[0];
    }
  }
}

GYROD_COLD Counted::Tally RodSet::operations(double t, const double* y) {
  Counted::tally() = {};
  Counted::Tally total;
  for (auto& r : rods_) {
    RodState<Counted> s(r->d);
    std::vector<Counted> q(std::size_t(r->size)), dq(q.size());
    for (std::size_t k = 0; k < q.size(); ++k) q[k] = Counted::variable(y[r->at + k]);
    move_ends(*r, t);
    Counted::tally() = total;
    if (!held_) derivative<Counted>(*r, s, nullptr, t, q.data(), dq.data());
    total = Counted::tally();
  }
  return total;
}

} // namespace gyrod
