#include "gyrod/assembly/limits.hpp"

#include "gyrod/rigid/formulations.hpp"

namespace gyrod {

Limits::Limits(System& system, const std::string& formulation, std::vector<JointLimit> joints,
               std::vector<RodLimit> rods)
    : system_(system), kind_(coordinates_of(formulation)), joints_(std::move(joints)), rods_(std::move(rods)),
      state_(rods_.empty() ? 0 : system.size()) {
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const JointLimit& l = joints_[k];
    if (std::isfinite(l.lower)) edges_.push_back({k, l.lower, -1, l.ends});
    if (std::isfinite(l.upper)) edges_.push_back({k, l.upper, 1, l.ends});
  }
  for (std::size_t k = 0; k < rods_.size(); ++k) edges_.push_back({joints_.size() + k, 1.0, 1, true});
  for (const JointLimit& l : joints_)
    for (const int body : {joint(l).place.a, joint(l).place.b})
      if (body >= 0) bodies_.push_back(body);
  std::sort(bodies_.begin(), bodies_.end());
  bodies_.erase(std::unique(bodies_.begin(), bodies_.end()), bodies_.end());
  poses_.assign(bodies_.empty() ? 1 : std::size_t(bodies_.back()) + 2,
                {Vec3<double>::Zero(), Mat3<double>::Identity()});
}

const Joint& Limits::joint(const JointLimit& limit) const {
  return system_.mechanism().model().joints[std::size_t(limit.joint)];
}

void Limits::values(double t, const double* y, double* q) {
  for (const int body : bodies_) poses_[std::size_t(body) + 1] = pose(y, body);
  for (const JointLimit& limit : joints_) *q++ = coordinate(joint(limit));
  if (rods_.empty()) return;
  std::copy_n(y, state_.size(), state_.begin());
  system_.place(t, state_.data(), false);
  system_.rods()->look(t, state_.data() + system_.rods_at());
  for (const RodLimit& limit : rods_) *q++ = used(limit);
}

Limits::Pose Limits::pose(const double* y, int body) const {
  const double* s = y + system_.rigid()->offset(body);
  Pose p{Part<3>::of(s), Mat3<double>()};
  if (kind_ == Coordinates::directors)
    p.R = frame_of(s + 3);
  else if (kind_ == Coordinates::angles)
    p.R = EulerAngles::frame<double>(s + 3);
  else // an angle does not mind a quaternion whose length has drifted
    p.R = matrix_from_quaternion<double>(Part<4>::of(s + 3));
  return p;
}

double Limits::coordinate(const Joint& joint) const {
  const JointPlace& p = joint.place;
  const Pose &a = poses_[std::size_t(p.a + 1)], &b = poses_[std::size_t(p.b + 1)];
  const Vec3<double> axis = p.frame_a.col(2), first = p.frame_b.col(0);
  const auto along = [&] { return Vec3<double>(a.R * axis).dot(b.x + b.R * p.at_b - a.x - a.R * p.at_a); };
  const MotionAxis::Type motion = joint.type->motion[0].type;
  if (motion == MotionAxis::slide) return along();
  const Vec3<double> seen = a.R.transpose() * Vec3<double>(b.R * first); // axis 1 of b from a
  const double angle = std::atan2(seen.dot(p.frame_a.col(1)), seen.dot(p.frame_a.col(0)));
  return motion == MotionAxis::screw ? turned(angle, along() / p.parameter) : angle; // turns are told by the advance
}

double Limits::used(const RodLimit& limit) {
  RodEquations& rods = *system_.rods();
  const RodDescription& d = rods.rod(limit.rod);
  double hold[12];
  if (d.degree) rods.reactions(limit.rod, hold);
  const RodState<double>& s = rods.state(limit.rod);
  double most = 0.0;
  const auto count = [&](std::size_t place, double axial, const Vec3<double>& M, const Vec3<double>& K) {
    if (limit.kind == RodLimit::bend) {
      most = std::max(most, limit.allowed * std::hypot(K[0], K[1]));
      return;
    }
    const Vec3<double>& f = limit.factors[place];
    const double one = std::abs(M[0]) * f[1], two = std::abs(M[1]) * f[2];
    most = std::max(most, (std::abs(axial) * f[0] + (limit.round ? std::hypot(one, two) : one + two)) / limit.allowed);
  };
  const std::size_t bends = s.K.size(), lead = d.degree ? 1 : 0;
  for (std::size_t n = 0; n < bends; ++n) {
    const bool bent = d.degree || d.weight[n] > 0.0;
    const Vec3<double> none = Vec3<double>::Zero();
    double axial = s.F[std::min(n, s.F.size() - 1)][2];
    if (!d.degree && n > 0 && n + 1 < bends) axial = 0.5 * (s.F[n - 1][2] + s.F[n][2]); // of segments at a vertex
    count(n + lead, axial, bent ? s.M[n] : none, bent ? Vec3<double>(s.K[n] + d.K0[n]) : d.K0[n]);
  }
  for (int e = 0; e < 2 && d.degree; ++e) {
    Vec3<double> F, M, K;
    at_end(limit, e, s, hold, F, M, K);
    count(e ? bends + 1 : 0, F[2], M, K);
  }
  return most;
}

void Limits::at_end(const RodLimit& limit, int e, const RodState<double>& s, const double* hold, Vec3<double>& F,
                    Vec3<double>& M, Vec3<double>& K) const {
  RodEquations& rods = *system_.rods();
  const RodDescription& d = rods.rod(limit.rod);
  F.setZero(), M.setZero(), K.setZero();
  Vec3<double> rest = Vec3<double>::Zero();
  const std::size_t from = e ? s.K.size() - limit.weights[1].size() : 0;
  for (std::size_t j = 0; j < limit.weights[e].size(); ++j) {
    const double w = limit.weights[e][j];
    F += w * s.F[from + j], M += w * s.M[from + j], rest += w * d.K0[from + j], K += w * s.K[from + j];
  }
  K += rest;
  // Where an end is held they follow from what holds it: the polynomial through Gauss points does not reach there.
  const Mat3<double> inside = matrix_from_quaternion<double>(rods.vertex_frame(limit.rod, e ? d.segments : 0));
  const double sign = e ? 1.0 : -1.0;
  if (d.ends[e].held) F = sign * (inside.transpose() * Part<3>::of(hold + 6 * e));
  if (!d.ends[e].clamped) return;
  M = sign * (inside.transpose() * Part<3>::of(hold + 6 * e + 3));
  Matrix<double, 6, 1> load;
  load << F, M;
  K = rest + limit.compliance[e] * load;
}

} // namespace gyrod
