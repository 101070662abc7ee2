#include "bind.hpp"

#include <memory>

#include "gyrod/attitude/attitude.hpp"
#include "gyrod/attitude/attitude_ode.hpp"
#include "gyrod/integrate/explicit_rk.hpp"

namespace {
using namespace gyrod;

template <class M> struct Type {
  using type = M;
};

// Call f(Type<Method>{}) for the method of that name.
template <class F> auto with_method(const std::string& name, F&& f) {
  if (name == "magnus6") return f(Type<Magnus6>{});
  if (name == "magnus4") return f(Type<Magnus4>{});
  if (name == "midpoint-matrix") return f(Type<MidpointMatrix>{});
  if (name == "midpoint-quaternion") return f(Type<MidpointQuaternion>{});
  throw nb::value_error(("no method " + name).c_str());
}

Side side_of(const std::string& frame) { return frame == "space" ? Side::space : Side::body; }
Quat quat(const double* q) { return {q[0], q[1], q[2], q[3]}; }

Signal signal(const Times& t, const Rows3& values, bool increments, double step) {
  Signal s{t.data(), values.data(), t.shape(0), increments, step};
  if (s.n < 1 || values.shape(0) != s.count()) throw nb::value_error("values do not match the times");
  return s;
}

Out2 integrate_samples(Times t, Rows3 values, bool increments, double step, const std::string& method,
                       const std::string& frame, Four initial) {
  const Signal s = signal(t, values, increments, step);
  Out2 out = owned<Out2>({s.n, 4});
  with_method(method, [&]<class M>(Type<M>) {
    nb::gil_scoped_release release;
    integrate<M>(s, quat(initial.data()), side_of(frame), out.data());
  });
  return out;
}

Out2 evaluate_samples(Times t, Rows3 values, bool increments, const std::string& method, const std::string& frame,
                      Rows4 quaternions, Times times) {
  const Signal s = signal(t, values, increments, 0.0);
  if (s.n < 2 || quaternions.shape(0) != s.n) throw nb::value_error("quaternions do not match the times");
  Out2 out = owned<Out2>({times.shape(0), 4});
  with_method(method, [&]<class M>(Type<M>) {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < times.shape(0); ++i) {
      const Quat q = evaluate<M>(s, quaternions.data(), times.data()[i], side_of(frame));
      double* o = out.data() + 4 * i;
      o[0] = q.w, o[1] = q.x, o[2] = q.y, o[3] = q.z;
    }
  });
  return out;
}

Out2 interpolate_samples(Times t, Rows3 values, bool increments, Times times) {
  const Signal s = signal(t, values, increments, 0.0);
  if (s.n < 2) throw nb::value_error("two times are needed to interpolate");
  Out2 out = owned<Out2>({times.shape(0), 3});
  nb::gil_scoped_release release;
  SampledRates{s}(times.data(), int(times.shape(0)), out.data());
  return out;
}

// Rotation increments (quaternions) of steps of length h from rates at points inside them: Gauss points for
// the Magnus methods (3 for order 6, 2 for order 4), both ends for the midpoint rules.
using Points = nb::ndarray<const double, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

Out2 step_rotations(Points rates, Times h, const std::string& method, const std::string& frame) {
  const std::size_t n = rates.shape(0), points = rates.shape(1);
  if (h.shape(0) != n) throw nb::value_error("one step length per step");
  Out2 out = owned<Out2>({n, 4});
  with_method(method, [&]<class M>(Type<M>) {
    const std::size_t needed = std::is_same_v<M, Magnus6> ? 3 : 2;
    if (points != needed) throw nb::value_error("wrong number of points in a step");
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n; ++i) {
      const double* v = rates.data() + 3 * points * i;
      const double step = h.data()[i];
      const auto at = [&](int k) { return Triple{v[3 * k], v[3 * k + 1], v[3 * k + 2]}; };
      Moments m;
      if constexpr (std::is_same_v<M, Magnus6>) {  // moments of the parabola through three Gauss points
        const double root = 0.3872983346207416885; // sqrt(15)/10
        m.b0 = (step / 18.0) * (5.0 * at(0) + 8.0 * at(1) + 5.0 * at(2));
        m.b1 = (step * 5.0 / 18.0 * root) * (at(2) + (-1.0) * at(0));
        m.b2 = (step * 5.0 / 18.0 * 0.15) * (at(0) + at(2));
      } else {
        const double lever = std::is_same_v<M, Magnus4> ? 0.28867513459481288225 : 0.0; // sqrt(3)/6
        m.b0 = (0.5 * step) * (at(0) + at(1));
        m.b1 = (0.5 * step * lever) * (at(1) + (-1.0) * at(0));
        m.b2 = {0, 0, 0};
      }
      const Quat q = M::quaternion(M::vector(m, double(int(side_of(frame)))));
      double* o = out.data() + 4 * i;
      o[0] = q.w, o[1] = q.x, o[2] = q.y, o[3] = q.z;
    }
  });
  return out;
}

// q0, q0 dq1, q0 dq1 dq2, ... (body) or from the left (space).
Out2 compose(Four initial, Rows4 increments, const std::string& frame) {
  const std::size_t n = increments.shape(0);
  Out2 out = owned<Out2>({n + 1, 4});
  Quat q = quat(initial.data());
  double* o = out.data();
  for (std::size_t i = 0;; ++i, o += 4) {
    o[0] = q.w, o[1] = q.x, o[2] = q.y, o[3] = q.z;
    if (i == n) return out;
    q = normalize(advance(q, quat(increments.data() + 4 * i), side_of(frame)));
  }
}

// Rates by a Python function of an array of times.
struct PythonRates {
  nb::callable function;
  void operator()(const double* times, int count, double* out) const {
    Out1 t = owned<Out1>({std::size_t(count)});
    std::copy(times, times + count, t.data());
    const Rows3 w = nb::cast<Rows3>(function(t));
    if (w.shape(0) != std::size_t(count)) throw nb::value_error("rates returned a wrong number of rows");
    std::copy(w.data(), w.data() + 3 * count, out);
  }
};

struct AdaptiveRun {
  Out1 t;
  Out2 y;
  Out3 stages;
  long steps, rejected, evaluations;
  bool finished;
};

AdaptiveRun solve(const Rates& rates, const std::string& parametrization, const std::string& pair,
                  const std::string& frame, double t0, double t1, const Times& y0, double rtol, double atol) {
  const auto run = [&]<int N>(KinematicSystem<N> system) {
    if (y0.shape(0) != N) throw nb::value_error("wrong number of initial values");
    const bool fifth = pair == "ode45";
    const AdaptiveResult r = fifth ? integrate_adaptive<DormandPrince54>(system, t0, t1, y0.data(), rtol, atol)
                                   : integrate_adaptive<BogackiShampine32>(system, t0, t1, y0.data(), rtol, atol);
    const std::size_t n = r.t.size(), stages = fifth ? DormandPrince54::stages : BogackiShampine32::stages;
    return AdaptiveRun{copied<Out1>(r.t, {n}),
                       copied<Out2>(r.y, {n, N}),
                       copied<Out3>(r.k, {n - 1, stages, N}),
                       r.steps,
                       r.rejected,
                       r.evaluations,
                       r.finished};
  };
  const Side side = side_of(frame);
  if (parametrization == "rotation-vector") return run(KinematicSystem<3>{RotationVectorKinematics::rhs, rates, side});
  if (parametrization == "tangential") return run(KinematicSystem<3>{TangentialKinematics::rhs, rates, side});
  return run(KinematicSystem<4>{QuaternionKinematics::rhs, rates, side});
}

// y inside the steps that hold the times, from the stages.
template <class Pair>
Out2 dense_output(Times t, nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig> y,
                  nb::ndarray<const double, nb::shape<-1, -1, -1>, nb::c_contig> k, Times times) {
  const std::size_t n = t.shape(0), d = y.shape(1);
  if (n < 2 || k.shape(0) != n - 1 || k.shape(1) != std::size_t(Pair::stages) || k.shape(2) != d)
    throw nb::value_error("stages do not match the steps");
  Out2 out = owned<Out2>({times.shape(0), d});
  for (std::size_t i = 0; i < times.shape(0); ++i) {
    const double time = times.data()[i];
    const std::size_t j =
        std::clamp<std::size_t>(std::size_t(std::upper_bound(t.data(), t.data() + n, time) - t.data()), 1, n - 1) - 1;
    const double h = t.data()[j + 1] - t.data()[j], x = (time - t.data()[j]) / h;
    for (std::size_t c = 0; c < d; ++c) {
      double sum = 0.0;
      for (int s = 0; s < Pair::stages; ++s) {
        double b = 0.0;
        for (int m = Pair::dense_degree; m-- > 0;) b = (b + Pair::dense[s][m]) * x;
        sum += b * k(j, s, c);
      }
      out(i, c) = y(j, c) + h * sum;
    }
  }
  return out;
}

// One class for Python; the method is chosen at run time.
class AttitudeStream {
public:
  AttitudeStream(const std::string& method, const std::string& frame, bool increments, Four initial) {
    with_method(method, [&]<class M>(Type<M>) {
      impl_ = std::make_unique<Model<M>>(Stream<M>(quat(initial.data()), side_of(frame), increments));
    });
  }
  std::tuple<Out1, Out2> push(Times t, Rows3 values) {
    if (t.shape(0) != values.shape(0)) throw nb::value_error("one value per time");
    std::vector<double> ts, qs;
    for (std::size_t i = 0; i < t.shape(0); ++i) impl_->push(t.data()[i], values.data() + 3 * i, ts, qs);
    return output(ts, qs);
  }
  std::tuple<Out1, Out2> finish() {
    std::vector<double> ts, qs;
    impl_->finish(ts, qs);
    return output(ts, qs);
  }
  Out1 latest() const {
    const Quat q = impl_->latest();
    return copied<Out1>({q.w, q.x, q.y, q.z}, {4});
  }
  std::size_t waiting() const { return impl_->waiting(); }

private:
  struct Concept {
    virtual ~Concept() = default;
    virtual void push(double, const double*, std::vector<double>&, std::vector<double>&) = 0;
    virtual void finish(std::vector<double>&, std::vector<double>&) = 0;
    virtual Quat latest() const = 0;
    virtual std::size_t waiting() const = 0;
  };
  template <class M> struct Model final : Concept {
    explicit Model(Stream<M> s) : stream(std::move(s)) {}
    void push(double t, const double* v, std::vector<double>& ts, std::vector<double>& qs) override {
      stream.push(t, v, ts, qs);
    }
    void finish(std::vector<double>& ts, std::vector<double>& qs) override { stream.finish(ts, qs); }
    Quat latest() const override { return stream.latest(); }
    std::size_t waiting() const override { return stream.waiting(); }
    Stream<M> stream;
  };
  static std::tuple<Out1, Out2> output(const std::vector<double>& ts, const std::vector<double>& qs) {
    return {copied<Out1>(ts, {ts.size()}), copied<Out2>(qs, {ts.size(), 4})};
  }
  std::unique_ptr<Concept> impl_;
};
} // namespace

void bind_attitude(nb::module_& m) {
  nb::class_<AdaptiveRun>(m, "AdaptiveRun")
      .def_prop_ro(
          "t", [](const AdaptiveRun& r) { return r.t; }, nb::rv_policy::move)
      .def_prop_ro(
          "y", [](const AdaptiveRun& r) { return r.y; }, nb::rv_policy::move)
      .def_prop_ro(
          "stages", [](const AdaptiveRun& r) { return r.stages; }, nb::rv_policy::move)
      .def_ro("steps", &AdaptiveRun::steps)
      .def_ro("rejected", &AdaptiveRun::rejected)
      .def_ro("evaluations", &AdaptiveRun::evaluations)
      .def_ro("finished", &AdaptiveRun::finished);
  m.def("integrate_samples", &integrate_samples, "t"_a, "values"_a, "increments"_a, "step"_a, "method"_a, "frame"_a,
        "initial"_a, "Quaternions at all times from samples or increments; step > 0 says that the times are uniform.");
  m.def("evaluate_samples", &evaluate_samples, "t"_a, "values"_a, "increments"_a, "method"_a, "frame"_a,
        "quaternions"_a, "times"_a, "Quaternions between the samples.");
  m.def("interpolate_samples", &interpolate_samples, "t"_a, "values"_a, "increments"_a, "times"_a,
        "Angular velocity between the samples, by eight-point polynomials.");
  m.def("step_rotations", &step_rotations, "rates"_a, "h"_a, "method"_a, "frame"_a,
        "Rotation over each step from rates at points inside it.");
  m.def("compose", &compose, "initial"_a, "increments"_a, "frame"_a, "Running product of rotations.");
  m.def(
      "solve_sampled",
      [](Times t, Rows3 values, bool increments, const std::string& parametrization, const std::string& pair,
         const std::string& frame, double t0, double t1, Times y0, double rtol, double atol) {
        return solve(SampledRates{signal(t, values, increments, 0.0)}, parametrization, pair, frame, t0, t1, y0, rtol,
                     atol);
      },
      "t"_a, "values"_a, "increments"_a, "parametrization"_a, "pair"_a, "frame"_a, "t0"_a, "t1"_a, "y0"_a, "rtol"_a,
      "atol"_a, "Adaptive Runge-Kutta for sampled rates.");
  m.def(
      "solve_function",
      [](nb::callable rates, const std::string& parametrization, const std::string& pair, const std::string& frame,
         double t0, double t1, Times y0, double rtol,
         double atol) { return solve(PythonRates{rates}, parametrization, pair, frame, t0, t1, y0, rtol, atol); },
      "rates"_a, "parametrization"_a, "pair"_a, "frame"_a, "t0"_a, "t1"_a, "y0"_a, "rtol"_a, "atol"_a,
      "The same for a Python function that maps an array of times to an array of rates.");
  m.def("dense_ode45", &dense_output<DormandPrince54>, "t"_a, "y"_a, "stages"_a, "times"_a, "Dense output of ode45.");
  m.def("dense_ode23", &dense_output<BogackiShampine32>, "t"_a, "y"_a, "stages"_a, "times"_a, "Dense output of ode23.");
  nb::class_<AttitudeStream>(m, "AttitudeStream")
      .def(nb::init<const std::string&, const std::string&, bool, Four>(), "method"_a, "frame"_a, "increments"_a,
           "initial"_a)
      .def("push", &AttitudeStream::push, "t"_a, "values"_a)
      .def("finish", &AttitudeStream::finish)
      .def("latest", &AttitudeStream::latest)
      .def("waiting", &AttitudeStream::waiting);
}
