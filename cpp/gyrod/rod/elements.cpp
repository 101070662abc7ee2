// Four elements go through the kernel at once, one in each lane of the processor's vectors; the last four are filled up
// with copies of the last one.
#include "gyrod/rod/elements.hpp"

#include <cstdio>

#include "gyrod/math/lanes.hpp"
#include "gyrod/rigid/formulations.hpp"
#include "gyrod/rod/element_forces.hpp"
#include "gyrod/rod/hosted.hpp"

namespace gyrod {

template struct ElementKernel<2, Lanes>;
template struct ElementKernel<3, Lanes>;
template struct ElementKernel<4, Lanes>;

namespace {

// What a body that holds an end does to the nodes of the element there and feels of them, of any degree.
void host_end(const RodDescription& d, const RodState<double>& s, int e, const EndMotion& motion, const HostMotion& m,
              const Discretization::Blocks& blocks, HostedEnd& h) {
  const RodEnd& end = d.ends[e];
  const int n = e ? d.segments : 0;
  const EndMap map(end, motion, m);
  const double turns = end.clamped ? 1.0 : 0.0;
  for (int k = 0; k <= d.degree; ++k) {
    const int c = e ? n - k : k;
    const auto &q = blocks.q(c, n), &v = blocks.v(c, n), &qr = blocks.q(n, c), &vr = blocks.v(n, c);
    using M66 = Matrix<double, 6, 6>;
    M66 place = q.rightCols<3>() * map.x_p + v.rightCols<3>() * map.v_p, speed = v.rightCols<3>() * map.v_v;
    if (end.clamped) {
      place += q.middleCols<3>(1) * map.turn_p + v.middleCols<3>(1) * map.spin_p;
      speed += v.middleCols<3>(1) * map.spin_v;
    }
    const auto wrench = [&](const auto& rows, auto& to) { // torque, force from mu, f
      to << map.arm * rows.template bottomRows<3>() + turns * (map.R * rows.template topRows<3>()),
          rows.template bottomRows<3>();
    };
    wrench(qr, h[k].wrench_q), wrench(vr, h[k].wrench_v);
    if (k == 0) { // what of this node is the body's goes there
      wrench(place, h.own_place), wrench(speed, h.own_speed);
      // (V x r) x f + V x (R m)
      h.own_place.topLeftCorner<3, 3>() += cross_matrix<double>(s.f[std::size_t(n)]) * map.arm;
      if (end.clamped) h.own_place.topLeftCorner<3, 3>() -= cross_matrix<double>(map.R * s.end_moment[e]);
      place.bottomRows<3>().setZero(), speed.bottomRows<3>().setZero();
      h[k].wrench_q.rightCols<3>().setZero(), h[k].wrench_v.rightCols<3>().setZero();
    }
    h[k].by_place = place, h[k].by_speed = speed;
  }
}

template <int p> class Elements final : public ElementForces<p, double, Discretization> {
  using Forces = ElementForces<p, double, Discretization>;
  using Forces::count_, Forces::d_, Forces::N_, Forces::i, Forces::nodes, Forces::finish, Forces::frames;
  using Blocks = Discretization::Blocks;
  static constexpr int width = Lanes::width;
  using Wide = ElementKernel<p, Lanes>;
  using V3 = Vec3<double>;
  using V4 = Vec4<double>;

public:
  GYROD_COLD explicit Elements(const RodDescription& d)
      : Forces(d), batches_(std::size_t((count_ + width - 1) / width)) {
    pack();
  }

  void revise() override { pack(); }

  void configuration(RodState<double>& s) const override {
    for (Batch& b : batches_) strain(s, b);
    publish(s);
  }

  void forces(double t, RodState<double>& s, const EndMotion* ends) const override {
    this->weigh(s);
    for (V4& g : s.gp) g.setZero();
    for (Batch& b : batches_) {
      strain(s, b);
      Wide::stresses(b.parameters, b.values);
      Vec3<Lanes> f[nodes];
      Vec4<Lanes> gp[nodes];
      Wide::forces(b.parameters, b.values, f, gp);
      add(b, f, gp, s);
    }
    finish(t, s, ends);
  }
  void forces(double t, RodState<Dual<1>>& s, const EndMotion* ends) const override { Forces::forces(t, s, ends); }

  void publish(RodState<double>& s) const override {
    frames(s);
    for (const Batch& b : batches_)
      for (int lane = 0; lane < b.used; ++lane)
        for (int k = 0; k < p; ++k) {
          const std::size_t g = i(p * (b.first + lane) + k);
          const auto take = [&](const Vec3<Lanes>& x) { return V3(x[0][lane], x[1][lane], x[2][lane]); };
          const auto& o = b.values;
          s.u[g] = take(o.u[k]), s.G[g] = take(o.G[k]), s.E[g] = take(o.E[k]), s.F[g] = take(o.F[k]);
          s.K[g] = take(o.K[k]) - d_.K0[g], s.M[g] = take(o.M[k]);
          if (d_.damped) s.Ed[g] = take(o.Ed[k]), s.Kd[g] = take(o.Kd[k]);
        }
  }
  void adopt(const RodState<double>& s) const override {
    for (Batch& b : batches_)
      for (int lane = 0; lane < width; ++lane)
        for (int k = 0; k < p; ++k)
          for (int c = 0; c < 3; ++c) b.values.F[k][c].set(lane, s.F[i(p * b.element(lane) + k)][c]);
  }

  void blocks(double t, const RodState<double>& s, const EndMotion*, Blocks& out) const override {
    if (!d_.damped) clear_rates(out);
    for (Batch& b : batches_) {
      Wide::blocks(b.parameters, b.state, b.values, blocks_);
      for (int a = p; a >= 0; --a) // backwards: see `put`
        for (int c = p; c >= 0; --c) {
          put(b, blocks_.q[a][c], a, c, [&](int r, int o) { return out.q(r, o).data(); });
          if (d_.damped) put(b, blocks_.v[a][c], a, c, [&](int r, int o) { return out.v(r, o).data(); });
        }
    }
    rates_ = d_.damped;
    this->add_load_blocks(t, s, out);
  }

  void hosted(double, const RodState<double>& s, int e, const EndMotion& motion, const HostMotion& m,
              const Blocks& blocks, HostedEnd& h) const override {
    host_end(d_, s, e, motion, m, blocks, h);
  }

  double strain_energy(const RodState<double>& s) const override {
    double V = 0.0;
    for (std::size_t g = 0; g < s.E.size(); ++g) {
      V += 0.5 * d_.quadrature[g] * s.E[g].dot(d_.CG[g] * s.E[g]);
      if (d_.coupled) V += d_.quadrature[g] * s.E[g].dot(d_.CX[g] * s.K[g]); // the coupling counts with the strains
    }
    return V;
  }
  double curvature_energy(const RodState<double>& s) const override {
    double V = 0.0;
    for (std::size_t g = 0; g < s.K.size(); ++g) V += 0.5 * d_.quadrature[g] * s.K[g].dot(d_.CK[g] * s.K[g]);
    return V;
  }
  double internal_dissipation(const RodState<double>& s) const override {
    double power = 0.0;
    for (std::size_t g = 0; g < s.E.size() && d_.damped; ++g)
      power += 2.0 * d_.quadrature[g] * (s.Ed[g].cwiseAbs2().dot(d_.cG[g]) + s.Kd[g].cwiseAbs2().dot(d_.cK[g]));
    return power;
  }
  void radial(const RodState<double>& s, double* out) const override {
    for (std::size_t j = 0; j < s.p.size(); ++j) out[j] = s.p[j].dot(s.gp[j]);
  }
  Vec4<double> vertex_frame(const RodState<double>& s, const EndMotion*, int n) const override {
    return s.p[i(n)].normalized();
  }

  // Within an element |P| falls to zero where frames turn away from each other; but before that it may turn so far that
  // it could as well turn the other way.
  std::string folds(const std::vector<V4>& frames, const EndMotion*) const override {
    const auto& table = Lobatto<p>::get();
    V4 q[nodes];
    q[p] = frames[0];
    for (int e = 0; e < count_; ++e) {
      q[0] = q[p];
      for (int a = 1; a <= p; ++a) q[a] = frames[i(p * e + a)];
      if (e == 0 && d_.holds(0) && q[0].dot(q[1]) < 0.0) q[0] = -q[0];
      if (e + 1 == count_ && d_.holds(N_) && q[p - 1].dot(q[p]) < 0.0) q[p] = -q[p];
      bool near = true; // neighbours by an equal share of half a turn
      for (int a = 0; a < p; ++a) {
        const double c = q[a].dot(q[a + 1]);
        near = near && c > 0.0 && c * c > share_ * q[a].squaredNorm() * q[a + 1].squaredNorm();
      }
      if (!near && !(turn(q) < farthest)) return turned(e, q);
      for (int k = 0; k < p; ++k) {
        V4 P = V4::Zero();
        for (int a = 0; a <= p; ++a) P += table.I[k][a] * q[a];
        if (!(P.squaredNorm() > smallest * smallest * q[p / 2].squaredNorm())) return turned(e, q);
      }
    }
    return {};
  }

private:
  // |P| below and turn of an element in rad above which it is not believed: about half a turn
  static constexpr double smallest = 0.5, farthest = 3.3;

  struct Batch {
    int first = 0, used = 0;
    typename Wide::Parameters parameters;
    typename Wide::State state;
    typename Wide::Values values;
    int element(int lane) const { return first + std::min(lane, used - 1); }
  };

  static double turn(const V4* q) {
    double angle = 0.0;
    for (int a = 0; a < p; ++a)
      angle += 2.0 * std::acos(std::clamp(q[a].normalized().dot(q[a + 1].normalized()), -1.0, 1.0));
    return angle;
  }
  std::string turned(int e, const V4* q) const {
    double from = 0.0, to;
    for (int j = 0; j < p * e; ++j) from += d_.ds[i(j)];
    to = from;
    for (int k = 0; k < p; ++k) to += d_.ds[i(p * e + k)];
    char text[320];
    std::snprintf(text, sizeof text,
                  "rod '%s' turns by %.0f degrees within its element from s = %.4g to %.4g m, further than an element "
                  "of degree %d can tell; use more elements, or refine() it",
                  d_.name.c_str(), 180.0 / M_PI * turn(q), from, to, p);
    return text;
  }

  void pack() {
    for (std::size_t n = 0; n < batches_.size(); ++n) {
      Batch& b = batches_[n];
      b.first = width * int(n), b.used = std::min(width, count_ - b.first);
      for (int l = 0; l < width; ++l)
        this->template fill<Lanes>(b.element(l), b.parameters, [&](Lanes& to, double x) { to.set(l, x); });
    }
  }

  GYROD_INLINE static void load(const std::vector<V3>& from, const int* at, Vec3<Lanes>& to) {
    const V3 &a = from[i(at[0])], &b = from[i(at[1])], &c = from[i(at[2])], &d = from[i(at[3])];
    for (int k = 0; k < 3; ++k) to[k] = Lanes(Lanes::Vector{a[k], b[k], c[k], d[k]});
  }
  GYROD_INLINE static void load(const std::vector<V4>& from, const int* at, Vec4<Lanes>& to) {
    Lanes rows[4];
    for (int l = 0; l < 4; ++l) rows[l] = *reinterpret_cast<const Lanes*>(from[i(at[l])].data());
    transpose(rows);
    for (int k = 0; k < 4; ++k) to[k] = rows[k];
  }

  void strain(const RodState<double>& s, Batch& b) const {
    for (int a = 0; a < nodes; ++a) {
      int at[width];
      for (int l = 0; l < width; ++l) at[l] = p * b.element(l) + a;
      load(s.x, at, b.state.x[a]), load(s.p, at, b.state.p_[a]);
      if (d_.damped) load(s.v, at, b.state.v[a]), load(s.w, at, b.state.w[a]);
    }
    if (d_.stretch) // the rest length changes with time
      for (int k = 0; k < p; ++k)
        for (int l = 0; l < width; ++l) b.parameters.point[k].G0[2].set(l, d_.G0[i(p * b.element(l) + k)][2]);
    Wide::strains(b.parameters, b.state, b.values);
  }

  void add(const Batch& b, const Vec3<Lanes>* f, const Vec4<Lanes>* gp, RodState<double>& s) const {
    for (int a = 0; a < nodes; ++a) {
      Lanes rows[4] = {gp[a][0], gp[a][1], gp[a][2], gp[a][3]}, moves[4] = {f[a][0], f[a][1], f[a][2], Lanes(0.0)};
      transpose(rows), transpose(moves);
      for (int l = 0; l < b.used; ++l) {
        const std::size_t n = i(p * (b.first + l) + a);
        Lanes& g = *reinterpret_cast<Lanes*>(s.gp[n].data());
        g += rows[l];
        for (int k = 0; k < 3; ++k) s.f[n][k] += moves[l][k];
      }
    }
  }

  // Rates of cells matter to a rod without damping only in a cell itself, where inertia and loads add to them.
  void clear_rates(Blocks& out) const {
    for (int r = 0; r <= N_; ++r)
      for (int c = rates_ ? out.first(r) : r; c <= (rates_ ? out.last(r) : r); ++c) out.v(r, c).setZero();
  }

  // A block of each element; at the node between two the first of the second is added to the last of the first, which
  // must be there.
  template <class At> void put(const Batch& b, const typename Wide::Block& block, int a, int c, At&& at) const {
    const Lanes* from = block.data();
    constexpr int size = Wide::Block::size(), whole = size / 4 * 4;
    const bool shared = a == 0 && c == 0;
    double* to[width];
    for (int l = 0; l < b.used; ++l) to[l] = at(p * (b.first + l) + a, p * (b.first + l) + c);
    for (int k = 0; k < whole; k += 4) {
      Lanes rows[4] = {from[k], from[k + 1], from[k + 2], from[k + 3]};
      transpose(rows);
      for (int l = 0; l < b.used; ++l) {
        Lanes& x = *reinterpret_cast<Lanes*>(to[l] + k);
        x = shared && b.first + l > 0 ? x + rows[l] : rows[l];
      }
    }
    for (int k = whole; k < size; ++k)
      for (int l = 0; l < b.used; ++l) to[l][k] = shared && b.first + l > 0 ? to[l][k] + from[k][l] : from[k][l];
  }

  double share_ = near_enough<p>();
  mutable std::vector<Batch> batches_; // work of the last call, too
  mutable typename Wide::Blocks blocks_;
  mutable bool rates_ = true; // whether rates of all cells may have been written
};

} // namespace

GYROD_COLD std::unique_ptr<Discretization> make_elements(const RodDescription& d) {
  if (d.degree == 2) return std::make_unique<Elements<2>>(d);
  if (d.degree == 3) return std::make_unique<Elements<3>>(d);
  if (d.degree == 4) return std::make_unique<Elements<4>>(d);
  throw std::invalid_argument("elements have degrees 2, 3 and 4");
}

} // namespace gyrod
