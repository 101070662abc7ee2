#include "gyrod/joints/set.hpp"

#include <numbers>
#include <stdexcept>

#include "gyrod/joints/kinds.hpp"

namespace gyrod {
namespace {
using V3 = Vec3<double>;
using M3 = Mat3<double>;

// Relative gap that a joint may have at the start; velocity in m/s or rad/s that counts as none.
constexpr double slack = 1e-9, rounding = 1e-12;

struct Partner {
  V3 x = V3::Zero(), v = V3::Zero(), w = V3::Zero(); // centre of mass, its velocity, spatial angular velocity
  M3 R = M3::Identity();
  V3 arm, point; // to the joint and where that is
  M3 frame;

  Partner(int body, const V3& at, const M3& axes, const BodyRows& m) {
    if (body >= 0) {
      const std::size_t b = std::size_t(body);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) R(i, j) = m.R[9 * b + std::size_t(3 * i + j)];
      x = Part<3>::of(m.x + 3 * b), v = Part<3>::of(m.v + 3 * b), w = R * V3(Part<3>::of(m.Omega + 3 * b));
    }
    arm = R * at, point = x + arm, frame = R * axes;
  }
  V3 speed() const { return v + w.cross(arm); }
};

struct Meeting {
  Partner a, b;
  V3 offset;
  Meeting(const JointPlace& p, const BodyRows& m)
      : a(p.a, p.at_a, p.frame_a, m), b(p.b, p.at_b, p.frame_b, m), offset(b.point - a.point) {}
  M3 turn() const { return M3(a.frame.transpose() * b.frame); }
  V3 moved() const { return V3(a.frame.transpose() * offset); }
  // Velocity of the point of b as a sees it, and spin of b against a, in the axes of the joint in a.
  V3 slip() const { return V3(a.frame.transpose() * V3(b.speed() - a.speed() - a.w.cross(offset))); }
  V3 spin() const { return V3(a.frame.transpose() * V3(b.w - a.w)); }
};

bool is_length(const JointType& type) { return type.rows.size == 1 && type.rows[0].type == RowKind::length; }

// The angle about an axis k of the joint that b has turned by: of a third axis in a, of any in b.
double angle_about(const MotionAxis& axis, const M3& T) {
  const int i = (axis.axis + 1) % 3, j = (axis.axis + 2) % 3;
  return axis.on_b ? std::atan2(T(j, i), T(j, j)) : std::atan2(T(j, i), T(i, i));
}

CoordinateMotion along(const MotionAxis& axis, const Meeting& m, double lead) {
  CoordinateMotion c;
  const V3 e = (axis.on_b ? m.b : m.a).frame.col(axis.axis), none = V3::Zero();
  const V3 lever = m.b.point - m.a.x, spin = m.b.w - m.a.w;
  if (axis.type == MotionAxis::slide) {
    const V3 slip = m.b.speed() - m.a.v - m.a.w.cross(lever);
    c.value = e.dot(m.offset), c.rate = e.dot(slip);
    // Of the point of b as a sees it: its acceleration in space, less that of a, less Coriolis' with the slip.
    const V3 of_b = m.b.w.cross(V3(m.b.w.cross(m.b.arm))), of_a = m.a.w.cross(V3(m.a.w.cross(lever)));
    c.bias = e.dot(V3(of_b - of_a - 2.0 * m.a.w.cross(slip)));
    c.slide = e, c.turn = none;
    c.by_v = e, c.by_wa = -lever.cross(e), c.by_wb = m.b.arm.cross(e);
  } else {
    c.value = angle_about(axis, m.turn()), c.rate = e.dot(spin);
    c.bias = V3((axis.on_b ? m.b : m.a).w.cross(e)).dot(spin);
    c.slide = none, c.turn = e;
    c.by_v = none, c.by_wa = -e, c.by_wb = e;
    if (axis.type == MotionAxis::screw) {
      c.value = turned(c.value, m.a.frame.col(2).dot(m.offset) / lead);
      c.slide = e * lead;
    }
  }
  return c;
}

CoordinateMotion length_of(const Meeting& m) {
  const double length = m.offset.norm();
  const V3 e = m.offset / length, rate = m.b.speed() - m.a.speed();
  const V3 bent = m.b.w.cross(V3(m.b.w.cross(m.b.arm))) - m.a.w.cross(V3(m.a.w.cross(m.a.arm)));
  const double along = e.dot(rate);
  return {length,
          along,
          e.dot(bent) + (rate.dot(rate) - along * along) / length,
          e,
          V3::Zero(),
          e,
          -m.a.arm.cross(e),
          m.b.arm.cross(e)};
}

M3 about(int axis, double angle) {
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  M3 R = M3::Zero();
  R(axis, axis) = 1.0;
  R(i, i) = R(j, j) = std::cos(angle);
  R(j, i) = std::sin(angle), R(i, j) = -R(j, i);
  return R;
}

// How far b leans against what the joint leaves, whatever the angle, and how fast.
void leaning(Turns turns, const Meeting& m, const M3& T, JointGaps& g) {
  const V3 spin = m.spin();
  switch (turns) {
  case Turns::none: {
    const V3 twist(T(2, 1) - T(1, 2), T(0, 2) - T(2, 0), T(1, 0) - T(0, 1));
    g.turn = std::atan2(0.5 * twist.norm(), 0.5 * (T(0, 0) + T(1, 1) + T(2, 2) - 1.0));
    g.spin = spin.norm();
    break;
  }
  case Turns::about:
    g.turn = std::atan2(std::hypot(T(0, 2), T(1, 2)), T(2, 2));
    g.spin = std::hypot(spin[0], spin[1]);
    break;
  case Turns::universal: {
    g.turn = std::asin(std::min(1.0, std::abs(T(2, 0))));
    const V3 across = m.a.frame.col(2).cross(m.b.frame.col(0));
    g.spin = std::abs(V3(m.b.w - m.a.w).dot(across)) / across.norm();
    break;
  }
  case Turns::ball:
    g.turn = g.spin = 0.0;
  }
}
} // namespace

void JointSet::add(const std::string& kind, const JointPlace& place) {
  const JointType* type = find_joint(kind);
  if (!type) throw std::invalid_argument("no joint '" + kind + "'");
  joints_.push_back({type, place});
}

int JointSet::coordinates(std::size_t joint) const {
  const JointType& type = *joints_[joint].type;
  return is_length(type) ? 1 : type.motion.size;
}

void JointSet::motion(std::size_t joint, const BodyRows& rows, CoordinateMotion* out) const {
  const Member& j = joints_[joint];
  const Meeting m(j.place, rows);
  const auto put = [&](CoordinateMotion c) {
    c.by_wa = m.a.R.transpose() * c.by_wa, c.by_wb = m.b.R.transpose() * c.by_wb;
    *out++ = c;
  };
  if (is_length(*j.type)) put(length_of(m));
  for (const MotionAxis& axis : j.type->motion) put(along(axis, m, j.place.parameter));
}

M3 JointSet::turn(std::size_t joint, const BodyRows& rows) const { return Meeting(joints_[joint].place, rows).turn(); }

void JointSet::pose(std::size_t joint, const double* q, M3& turn, V3& shift) const {
  const Member& j = joints_[joint];
  bool first = true;
  for (const MotionAxis& axis : j.type->motion) {
    if (axis.type == MotionAxis::slide) shift[axis.axis] = *q;
    if (axis.type == MotionAxis::screw) shift[axis.axis] = j.place.parameter * *q;
    if (axis.type != MotionAxis::slide) turn = first ? about(axis.axis, *q) : M3(turn * about(axis.axis, *q));
    first = first && axis.type == MotionAxis::slide;
    ++q;
  }
}

JointGaps JointSet::gaps(std::size_t joint, const BodyRows& rows, const Leading& led,
                         const double (&fastest)[2]) const {
  const Member& j = joints_[joint];
  const JointPlace& p = j.place;
  const Meeting m(p, rows);
  const M3 T = m.turn();
  const V3 moved = m.moved(), slip = m.slip();
  const double spin = m.spin()[2];
  JointGaps g;
  leaning(j.type->turns, m, T, g);

  // Relative to what is added up, and to the rounding of the coordinates that it comes from.
  const double xa = m.a.x.norm(), xb = m.b.x.norm(), pa = m.a.point.norm(), pb = m.b.point.norm();
  const double wa = m.a.w.norm(), wb = m.b.w.norm();
  double speed = 0.0;
  for (const V3& v : {m.a.v, m.b.v, m.a.w.cross(m.a.arm), m.b.w.cross(m.b.arm), m.a.w.cross(m.offset)})
    speed = std::max(speed, v.norm());
  g.shift_slack = slack * (p.at_a.norm() + p.at_b.norm() + m.offset.norm()) + 1e-14 * (xa + xb + pa + pb);
  g.turn_slack = slack;
  g.slide_slack = slack * speed + 2e-15 * (wa * (xa + pa + pb) + wb * (xb + pb)) + 1e-14 * fastest[0] + rounding;
  g.spin_slack = slack * std::max(wa, wb) + 1e-14 * fastest[1] + rounding;

  // The angle also where the axes lean; what leads it counts in full turns as well.
  const bool driven = !std::isnan(led.value);
  const double angle = std::atan2(T(1, 0) - T(0, 1), T(0, 0) + T(1, 1));
  const double miss = driven ? std::remainder(angle - led.value, 2.0 * std::numbers::pi) : 0.0;
  V3 shift = V3::Zero(), slide = V3::Zero(); // along the axes of the joint
  for (const RowKind& row : j.type->rows) switch (row.type) {
    case RowKind::point:
    case RowKind::plane:
      shift[row.i] = moved[row.i], slide[row.i] = slip[row.i];
      break;
    case RowKind::screw: {
      const double lead = p.parameter;
      shift[2] = moved[2] - lead * (driven ? led.value + miss : angle), slide[2] = slip[2] - lead * spin;
      g.slide_slack += slack * std::abs(lead * spin);
      break;
    }
    case RowKind::length: {
      const CoordinateMotion bar = length_of(m);
      shift[2] = bar.value - p.parameter, slide[2] = bar.rate - (driven ? led.rate : 0.0);
      if (driven) g.slide_slack += led.rate_slack;
      break;
    }
    default:
      break; // directions: leaning
    }
  for (const RowKind& row : j.type->drive) {
    if (!driven) break;
    if (row.type == RowKind::slide) {
      shift[row.i] = moved[row.i] - led.value, slide[row.i] = slip[row.i] - led.rate;
      g.shift_slack += slack * std::abs(led.value), g.slide_slack += led.rate_slack;
    } else {
      g.turn = std::max(g.turn, std::abs(miss)), g.spin = std::hypot(g.spin, spin - led.rate);
      g.spin_slack += led.rate_slack;
    }
  }
  g.shift = shift.norm(), g.slide = slide.norm();
  return g;
}

} // namespace gyrod
