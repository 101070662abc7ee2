// Rods of several members of an ensemble at once, one member in each lane: the same grid, ends and loads, other
// stiffness, damping, masses and states. For explicit methods; null-space form.
#include <memory>
#include <variant>

#include "gyrod/math/lanes.hpp"
#include "gyrod/rod/chain.hpp"
#include "gyrod/rod/element_forces.hpp"
#include "gyrod/rod/equations.hpp"
#include "gyrod/rod/staggered_forces.hpp"

namespace gyrod {

extern template struct ElementKernel<2, Lanes>; // elements.cpp
extern template struct ElementKernel<3, Lanes>;
extern template struct ElementKernel<4, Lanes>;

namespace {

// Elements whose parameters are members in lanes already.
template <int p> class LaneElements : public ElementForces<p, Lanes> {
  using Forces = ElementForces<p, Lanes>;

public:
  GYROD_COLD explicit LaneElements(const BasicRodDescription<Lanes>& d)
      : Forces(d), parameters_(std::size_t(this->count_)) {}
  void prepare() {
    for (std::size_t e = 0; e < parameters_.size(); ++e)
      this->template fill<Lanes>(int(e), parameters_[e], [](Lanes& to, const Lanes& x) { to = x; });
  }
  void forces(double t, RodState<Lanes>& s, const EndMotion* ends) const {
    this->run(t, s, ends, [&](int e) -> const auto& { return parameters_[std::size_t(e)]; });
  }

private:
  std::vector<typename ElementKernel<p, Lanes>::Parameters> parameters_;
};

class Wide final : public RodLanes {
public:
  GYROD_COLD explicit Wide(const RodEquations& rods) {
    for (int r = 0; r < rods.rods(); ++r) {
      rods_.push_back(std::make_unique<Rod>(widened(rods.rod(r))));
      rods_.back()->at = size_, size_ += std::size_t(rods_.back()->chain.size);
    }
  }

  std::size_t size() const override { return width * size_; }
  std::size_t lanes() const override { return width; }

  void revise(int r, int lane, const RodNumbers& numbers) override {
    auto& d = rods_[std::size_t(r)]->chain.d;
    for_numbers(d, numbers, [&](auto& to, const double* from) {
      for (std::size_t k = 0; from && k < to.size(); ++k) from = read(to[k], lane, from);
    });
    if (numbers.gravity) read(d.gravity, lane, numbers.gravity);
    if (numbers.damped) d.damped = (lane && d.damped) || *numbers.damped != 0.0; // those without have zeros
  }
  void prepare() override {
    for (auto& r : rods_) {
      r->chain.prepare();
      r->visit([](auto& grid) {
        if constexpr (requires { grid.prepare(); }) grid.prepare();
      });
    }
  }

  void rhs(double t, const double* y, double* dy) override {
    for (auto& part : rods_) {
      Rod& r = *part;
      const Lanes* from = reinterpret_cast<const Lanes*>(y) + r.at;
      r.chain.gather<Lanes>(r.s, from);
      r.visit([&](const auto& grid) { grid.forces(t, r.s, r.chain.ends); });
      r.chain.finish<Lanes>(r.s, from, reinterpret_cast<Lanes*>(dy) + r.at, FormulationOptions());
    }
  }

  bool project(double, double* y) override {
    for (auto& r : rods_)
      for (int n = r->chain.begin; n <= r->chain.last; ++n) {
        if (!r->chain.turns(n)) continue;
        Lanes* p = reinterpret_cast<Lanes*>(y) + r->at + r->chain.p_at[std::size_t(n)];
        const Lanes norm = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
        for (int k = 0; k < 4; ++k) p[k] /= norm;
      }
    return true;
  }

  // Whether a rod folds between two frames in any lane; which one is found when the members run by themselves.
  const char* trouble(double, const double* y) const override {
    static constexpr const char* folds = "a rod of a member folds";
    static constexpr double tiny = std::numeric_limits<double>::min(), huge = std::numeric_limits<double>::infinity();
    for (const auto& r : rods_) {
      const Lanes limit(r->chain.d.law.limit());
      const auto p = [&](int j) -> Vec4<Lanes> {
        const int cell = r->chain.d.cell_of(j);
        if (!r->chain.turns(cell)) return r->chain.ends[cell ? 1 : 0].p.cast<Lanes>();
        return Part<4>::of(reinterpret_cast<const Lanes*>(y) + r->at + r->chain.p_at[std::size_t(cell)]);
      };
      if (r->chain.d.degree) {
        const Lanes share(with_degree(r->chain.d.degree, []<int k>(const Lobatto<k>&) { return near_enough<k>(); }));
        for (int n = 0; n < r->chain.N; ++n) {
          const Vec4<Lanes> a = p(n), b = p(n + 1);
          const Lanes c = a.dot(b);
          const bool free = r->chain.turns(n) && r->chain.turns(n + 1); // a frame that is held has either sign
          if (!(c * c - share * (a.dot(a) * b.dot(b))).within(tiny, huge) || (free && !c.within(tiny, huge)))
            return folds;
        }
        continue;
      }
      for (int n = 1; n < r->chain.N; ++n) {
        const Vec4<Lanes> a = p(n - 1), b = p(n);
        if (!(a.dot(b) - limit * sqrt(a.dot(a) * b.dot(b))).within(tiny, huge)) return folds;
      }
      for (int e = 0; e < 2; ++e) {
        if (!r->chain.d.ends[e].clamped) continue;
        const Vec4<Lanes> b = p(e ? r->chain.N - 1 : 0);
        const Lanes v = r->chain.ends[e].p.cast<Lanes>().dot(b), n2 = b.dot(b);
        if (!(Lanes(2) * v * v - n2 - limit * n2).within(tiny, huge)) return folds;
      }
    }
    return nullptr;
  }

private:
  static constexpr std::size_t width = std::size_t(Lanes::width);

  struct Rod {
    using Grid = std::variant<StaggeredForces<Lanes>, LaneElements<2>, LaneElements<3>, LaneElements<4>>;
    explicit Rod(BasicRodDescription<Lanes> d) : chain(std::move(d)), grid(divided(chain.d)), s(chain.d) {}
    template <class F> void visit(F&& f) { std::visit(f, grid); }
    static Grid divided(const BasicRodDescription<Lanes>& d) {
      if (d.degree == 2) return LaneElements<2>(d);
      if (d.degree == 3) return LaneElements<3>(d);
      if (d.degree == 4) return LaneElements<4>(d);
      return StaggeredForces<Lanes>(d);
    }
    RodChain<Lanes> chain;
    Grid grid;
    RodState<Lanes> s;
    std::size_t at = 0;
  };

  static const double* read(Lanes& to, int lane, const double* from) { return to.set(lane, *from), from + 1; }
  template <class M> static const double* read(M& to, int lane, const double* from) {
    for (int i = 0; i < to.rows(); ++i)
      for (int j = 0; j < to.cols(); ++j) to(i, j).set(lane, *from++);
    return from;
  }

  static BasicRodDescription<Lanes> widened(const RodDescription& d) {
    BasicRodDescription<Lanes> w;
    w.name = d.name, w.segments = d.segments, w.degree = d.degree, w.ds = d.ds, w.lengths = d.lengths, w.span = d.span,
    w.weight = d.weight;
    const auto wide = [](auto& to, const auto& from) {
      for (const auto& x : from) to.push_back(x.template cast<Lanes>());
    };
    wide(w.CG, d.CG), wide(w.CK, d.CK), wide(w.CX, d.CX), wide(w.cG, d.cG), wide(w.cK, d.cK);
    wide(w.G0, d.G0), wide(w.K0, d.K0), wide(w.J, d.J), wide(w.drag, d.drag), wide(w.spin_drag, d.spin_drag);
    w.mass.assign(d.mass.begin(), d.mass.end()), w.off.assign(d.off.begin(), d.off.end());
    w.tributary.assign(d.tributary.begin(), d.tributary.end());
    w.damped = d.damped, w.coupled = d.coupled, w.blended = d.blended;
    w.strain = d.strain, w.held = d.held, w.law = d.law;
    for (int e = 0; e < 2; ++e) w.ends[e] = d.ends[e];
    w.loads = d.loads, w.supports = d.supports;
    w.gravity = d.gravity.cast<Lanes>();
    w.spin = d.spin, w.spins = d.spins;
    return w;
  }

  std::vector<std::unique_ptr<Rod>> rods_;
  std::size_t size_ = 0; // of one member
};

} // namespace

std::unique_ptr<RodLanes> make_lanes(const RodEquations& rods) { return std::make_unique<Wide>(rods); }

} // namespace gyrod
