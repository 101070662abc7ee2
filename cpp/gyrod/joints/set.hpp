// Joints as readings see them: what the coordinates of each are and how they move, by how much its partners miss each
// other, and where it puts b for given coordinates. All of it follows from the `JointType`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gyrod/joints/type.hpp"

namespace gyrod {

// Positions, rotations (row by row), velocities and material angular velocities of bodies.
struct BodyRows {
  const double *x, *R, *v, *Omega;
  std::size_t bodies;
  BodyRows row(std::size_t n) const {
    n *= bodies;
    return {x + 3 * n, R + 9 * n, v + 3 * n, Omega + 3 * n, bodies};
  }
};

// What leads a joint at the start; `value` is NaN where nothing does.
struct Leading {
  double value, rate, rate_slack;
};

// By how much partners miss each other in position (m, rad) and velocity (m/s, rad/s), and what of it is rounding.
struct JointGaps {
  double shift, turn, slide, spin;
  double shift_slack, turn_slack, slide_slack, spin_slack;
};

// A coordinate in a configuration.
struct CoordinateMotion {
  double value, rate;              // angles in (-pi, pi], those of screws with the turns that the displacement tells
  double bias;                     // second derivative where no body has an acceleration
  Vec3<double> slide, turn;        // velocity of the point of b and spin of b for a unit rate, space axes
  Vec3<double> by_v, by_wa, by_wb; // gradient of the rate: by v of b (less by that of a), by Omega of a and of b
};

class JointSet {
public:
  void add(const std::string& kind, const JointPlace& place);
  std::size_t size() const { return joints_.size(); }
  int coordinates(std::size_t joint) const;
  void motion(std::size_t joint, const BodyRows& m, CoordinateMotion* out) const;
  // Rotation of b against a in the axes of the joint.
  Mat3<double> turn(std::size_t joint, const BodyRows& m) const;
  // Relative rotation and displacement for coordinates q; what they do not say stays as it is.
  void pose(std::size_t joint, const double* q, Mat3<double>& turn, Vec3<double>& shift) const;
  // `fastest`: largest velocity and angular velocity of all bodies, whose rounding all velocities may have.
  JointGaps gaps(std::size_t joint, const BodyRows& m, const Leading& led, const double (&fastest)[2]) const;

private:
  struct Member {
    const JointType* type;
    JointPlace place;
  };
  std::vector<Member> joints_;
};

} // namespace gyrod
