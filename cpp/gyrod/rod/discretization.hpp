// How a rod is divided, as its owner sees it: forces and their Jacobian, energies and powers. What acts from outside is
// the same for all.
//
// Everything is said in local increments: a frame p moves by dp = p c/2 with the quaternion c = (e, Theta), a turn
// Theta in material axes and a stretch e; its rate is p' = p w/2 with w = (w0, Omega). On the unit sphere e and w0
// vanish, but integrators leave it within a step, and a Rosenbrock method needs the derivative in that direction too.
#pragma once

#include <memory>

#include "gyrod/rod/cells.hpp"
#include "gyrod/rod/equations.hpp"
#include "gyrod/rod/loads.hpp"

namespace gyrod {

struct HostedEnd;

class Discretization : public RodLoads<double> {
public:
  // Rows mu, f.
  using Blocks = CellBlocks<6>;

  using RodLoads<double>::RodLoads;
  virtual ~Discretization() = default;

  // After other numbers in the description.
  virtual void revise() {}
  // Frames and strains only.
  virtual void configuration(RodState<double>& s) const = 0;
  // Internal forces and moments and those of gravity, drag and loads, from x, v, p, w of the state.
  virtual void forces(double t, RodState<double>& s, const EndMotion* ends) const = 0;
  virtual void forces(double t, RodState<Dual<1>>& s, const EndMotion* ends) const = 0;
  // What `forces` may have kept to itself: strains, stresses and frames; and stresses that were changed meanwhile.
  virtual void publish(RodState<double>&) const {}
  virtual void adopt(const RodState<double>&) const {}
  // Derivatives of the forces, at the state as `forces` left it.
  virtual void blocks(double t, const RodState<double>& s, const EndMotion* ends, Blocks& out) const = 0;
  // What a body that holds an end does to the cells there and feels of them.
  virtual void hosted(double t, const RodState<double>& s, int e, const EndMotion& end, const HostMotion& m,
                      const Blocks& blocks, HostedEnd& out) const = 0;

  virtual double strain_energy(const RodState<double>& s) const = 0;
  virtual double curvature_energy(const RodState<double>& s) const = 0;
  // Dissipated power 2 D of internal damping.
  virtual double internal_dissipation(const RodState<double>& s) const = 0;
  // <p, dU/dp> of each frame.
  virtual void radial(const RodState<double>& s, double* out) const = 0;
  // The frame at a vertex, of unit length.
  virtual Vec4<double> vertex_frame(const RodState<double>& s, const EndMotion* ends, int n) const = 0;
  // Where frames turn further than can be represented, as a sentence; empty: nowhere. Frames lie at p_at in y.
  virtual std::string folds(const std::vector<Vec4<double>>& frames, const EndMotion* ends) const = 0;

  // Energy of the centrifugal forces in a frame that turns.
  double centrifugal_energy(const RodState<double>& s) const {
    double V = 0.0;
    for (int n = 0; n <= N_ && d_.spins; ++n) V -= 0.5 * d_.tributary[i(n)] * d_.spin.cross(s.x[i(n)]).squaredNorm();
    for (int j = 0; j < d_.frames() && d_.spins; ++j)
      V -= 0.5 * d_.J[i(j)].dot((s.R[i(j)].transpose() * d_.spin).cwiseAbs2());
    return V;
  }

  // Energy of supports and of dead constant forces.
  double load_energy(double t, const RodState<double>& s) const {
    double V = 0.0;
    for (const RodLoad& l : d_.loads)
      if (!l.follow && !l.law && l.constant() && l.F)
        for (const auto& h : l.force) V -= h.weight.cwiseProduct(l.F.vector(t)).dot(s.x[i(h.vertex)]);
    for (const RodSupport& k : d_.supports) V += 0.5 * k.stiffness.dot((s.x[i(k.vertex)] - k.at).cwiseAbs2());
    return V;
  }

  // Dissipated power of damping, supports and drag.
  double dissipation(const RodState<double>& s) const {
    double power = internal_dissipation(s);
    for (const RodSupport& k : d_.supports) power += k.damping.dot(s.v[i(k.vertex)].cwiseAbs2());
    for (const auto& h : d_.dragged)
      power += h.length * d_.drag[i(h.frame)].dot((s.R[i(h.frame)].transpose() * s.v[i(h.vertex)]).cwiseAbs2());
    for (int j = 0; j < d_.frames() && !d_.spin_drag.empty(); ++j)
      power += d_.lengths[i(j)] * d_.spin_drag[i(j)].dot(s.w[i(j)].tail<3>().cwiseAbs2());
    return power;
  }

  // Power of the loads that have no potential: all but dead constant forces.
  double load_power(double t, const RodState<double>& s, const EndMotion* ends) const {
    double power = 0.0;
    for (const RodLoad& load : d_.loads) {
      Vec3<double> F, M;
      load.value(t, F, M);
      if (load.law)
        for (const auto& h : load.force) {
          const RodPlace<double> at = place(h, s);
          const RodPush<double> p = load.law->push(load.numbers.data(), F, at);
          power += h.weight[0] * (p.force.dot(at.v) + p.moment.dot(at.Omega));
        }
      else if (load.follow || !load.constant())
        for (const auto& h : load.force) power += s.v[i(h.vertex)].dot(turned<double>(load, s, h, F));
      for (const auto& h : load.moment) {
        const Vec3<double> m = h.weight.cwiseProduct(M);
        if (h.frame < 0) { // on a clamp
          const EndMotion& end = ends[h.frame == -1 ? 0 : 1];
          power += end.Omega.dot(on_clamp(load, end, m));
          continue;
        }
        const Mat3<double>& R = s.R[i(h.frame)];
        power += s.w[i(h.frame)].tail<3>().dot(load.follow ? m : Vec3<double>(R.transpose() * m));
      }
    }
    return power;
  }

  // What acts from outside alone, added to the forces of a state whose frames R are known, and its derivatives.
  void add_outside(double t, RodState<double>& s, const EndMotion* ends) const { add_loads(t, s, ends); }
  void add_outside_blocks(double t, const RodState<double>& s, Blocks& out) const { add_load_blocks(t, s, out); }

protected:
  void add_load_blocks(double t, const RodState<double>& s, Blocks& out) const {
    if (!d_.drag.empty() || !d_.spin_drag.empty()) drag_blocks(s, out);
    if (!d_.loads.empty()) load_blocks(t, s, out);
    if (!d_.supports.empty()) support_blocks(s, out);
    if (d_.spins) frame_blocks(s, out);
  }

private:
  void drag_blocks(const RodState<double>& s, Blocks& out) const;
  void load_blocks(double t, const RodState<double>& s, Blocks& out) const;
  void support_blocks(const RodState<double>& s, Blocks& out) const;
  void frame_blocks(const RodState<double>& s, Blocks& out) const;
};

inline void Discretization::drag_blocks(const RodState<double>& s, Blocks& out) const {
  for (const auto& h : d_.dragged) {
    const int n = h.vertex, cell = d_.cell_of(h.frame);
    const Mat3<double>& R = s.R[i(h.frame)];
    const Vec3<double> c = h.length * d_.drag[i(h.frame)], local = R.transpose() * s.v[i(n)];
    const Vec3<double> f = c.cwiseProduct(local);
    out.v(n, n).bottomRightCorner<3, 3>() -= R * c.asDiagonal() * R.transpose();
    out.q(n, cell).block<3, 3>(3, 1) -= R * (c.asDiagonal() * cross_matrix<double>(local) - cross_matrix<double>(f));
    out.q(n, cell).block<3, 1>(3, 0) -= 2.0 * (R * f);
  }
  for (int j = 0; j < d_.frames() && !d_.spin_drag.empty(); ++j) {
    const int cell = d_.cell_of(j);
    out.v(cell, cell).block<3, 3>(0, 1).diagonal() -= d_.lengths[i(j)] * d_.spin_drag[i(j)];
  }
}

inline void Discretization::load_blocks(double t, const RodState<double>& s, Blocks& out) const {
  for (const RodLoad& load : d_.loads) {
    Vec3<double> F, M;
    load.value(t, F, M);
    if (load.law)
      for (const auto& h : load.force) {
        RodLaw::Block by_place, by_rate;
        load.law->derivatives(load.numbers.data(), F, place(h, s), by_place, by_rate);
        const int cells[] = {d_.cell_of(h.frame), h.vertex}; // of moment and turn, of force and place
        for (int r : {0, 1})
          for (int c : {0, 1}) {
            Blocks::Block &q = out.q(cells[r], cells[c]), &v = out.v(cells[r], cells[c]);
            for (int row = 3 * r; row < 3 * r + 3; ++row)
              for (int k = 4 * c; k < 4 + 3 * c; ++k)
                q(row, k) += h.weight[0] * by_place(row, k), v(row, k) += h.weight[0] * by_rate(row, k);
          }
      }
    else if (load.follow)
      for (const auto& h : load.force) {
        const Mat3<double>& R = s.R[i(h.frame)];
        Blocks::Block& q = out.q(h.vertex, d_.cell_of(h.frame));
        const Vec3<double> f = h.weight.cwiseProduct(F);
        q.block<3, 3>(3, 1) -= R * cross_matrix<double>(f);
        q.block<3, 1>(3, 0) += R * f;
      }
    else
      for (const auto& h : load.moment) {
        if (h.frame < 0) continue;
        const Vec3<double> m = s.R[i(h.frame)].transpose() * h.weight.cwiseProduct(M);
        Blocks::Block& q = out.q(d_.cell_of(h.frame), d_.cell_of(h.frame));
        q.block<3, 3>(0, 1) += cross_matrix<double>(m);
        q.block<3, 1>(0, 0) += m;
      }
  }
}

inline void Discretization::support_blocks(const RodState<double>& s, Blocks& out) const {
  for (const RodSupport& k : d_.supports) {
    out.q(k.vertex, k.vertex).bottomRightCorner<3, 3>().diagonal() -= k.stiffness;
    out.v(k.vertex, k.vertex).bottomRightCorner<3, 3>().diagonal() -= k.damping;
  }
}

inline void Discretization::frame_blocks(const RodState<double>& s, Blocks& out) const {
  const Mat3<double> W = cross_matrix<double>(d_.spin), WW = W * W;
  for (int n = 0; n <= N_; ++n) {
    out.q(n, n).bottomRightCorner<3, 3>() -= d_.tributary[i(n)] * WW;
    out.v(n, n).bottomRightCorner<3, 3>() -= (2.0 * d_.tributary[i(n)]) * W;
  }
  for (int j = 0; j < d_.frames();
       ++j) { // -(J (h x Omega) + Omega x J h + h x J Omega + h x J h), dh = h x Theta + e h
    const Vec3<double> h = s.R[i(j)].transpose() * d_.spin, Omega = s.w[i(j)].tail<3>(), J = d_.J[i(j)];
    const Mat3<double> H = cross_matrix<double>(h), O = cross_matrix<double>(Omega), D = J.asDiagonal();
    const Mat3<double> JO = cross_matrix<double>(J.cwiseProduct(Omega)), JH = cross_matrix<double>(J.cwiseProduct(h));
    const Mat3<double> by_h = D * O - O * D + JO + JH - H * D, by_spin = JH - D * H - H * D;
    Blocks::Block &q = out.q(d_.cell_of(j), d_.cell_of(j)), &v = out.v(d_.cell_of(j), d_.cell_of(j));
    q.block<3, 3>(0, 1) += by_h * H, q.block<3, 1>(0, 0) += by_h * h;
    v.block<3, 3>(0, 1) += by_spin;
  }
}

// As the description says, which must outlive it; elements.cpp and staggered.cpp have one kind each.
std::unique_ptr<Discretization> make_discretization(const RodDescription& d);

} // namespace gyrod
