// What joints and rods should not pass: coordinates of joints between edges, curvature and stress of rods below one.
#pragma once

#include "gyrod/assembly/system.hpp"
#include "gyrod/integrate/driver.hpp"
#include "gyrod/rigid/coordinates.hpp"

namespace gyrod {

// Edges of the coordinate of a joint with one freedom.
struct JointLimit {
  int joint = 0;
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
  bool ends = true; // the run; nothing stops a joint that is led
};

// A rod's largest bend radius x curvature, or stress over what is allowed; the edge is 1.
struct RodLimit {
  enum Kind { bend, stress } kind = bend;
  int rod = 0;
  double allowed = 0.0; // m or Pa
  // Where curvatures are; of elements also at the start before them and at the end behind them. 1/area, half size over
  // moment of area about d1 and d2; round sections add both bendings as vectors.
  std::vector<Vec3<double>> factors;
  bool round = false;
  // Of elements: what the Gauss points of the first and the last one are worth at the end, and the compliance there,
  // curvature by section force and moment.
  std::vector<double> weights[2];
  Matrix<double, 3, 6> compliance[2];
};

class Limits final : public Watch {
public:
  Limits(System& system, const std::string& formulation, std::vector<JointLimit> joints, std::vector<RodLimit> rods);
  std::size_t quantities() const override { return joints_.size() + rods_.size(); }
  void values(double t, const double* y, double* q) override;

private:
  struct Pose {
    Vec3<double> x;
    Mat3<double> R;
  };
  const Joint& joint(const JointLimit& limit) const;
  Pose pose(const double* y, int body) const;
  double coordinate(const Joint& joint) const;
  double used(const RodLimit& limit);
  // Section force, moment and curvature of an element at an end.
  void at_end(const RodLimit& limit, int e, const RodState<double>& s, const double* hold, Vec3<double>& F,
              Vec3<double>& M, Vec3<double>& K) const;

  System& system_;
  Coordinates kind_;
  std::vector<JointLimit> joints_;
  std::vector<RodLimit> rods_;
  std::vector<int> bodies_; // that joints with limits hold, each once
  std::vector<Pose> poses_; // of all bodies up to the last of these, that of ground first
  std::vector<double> state_;
};

} // namespace gyrod
