#include "gyrod/mechanism/model.hpp"

#include "gyrod/mechanism/forms.hpp"
#include "gyrod/mechanism/spring.hpp"

namespace gyrod {

template class ForceBase<JointSpring>;
template JointGeometry<BodyDual> geometry(const JointPlace&, const Side<BodyDual>&, const Side<BodyDual>&);
template Row<BodyDual> evaluate_row(const RowKind&, const JointPlace&, const JointGeometry<BodyDual>&, const Driven&);

std::unique_ptr<MechanismEquations> make_mechanism(const std::string& formulation, MechanismModel model) {
  const Coordinates kind = coordinates_of(formulation);
  if (!is_absolute(formulation)) return make_tree(kind, std::move(model));
  return make_absolute(kind == Coordinates::directors, std::move(model));
}

JointRows evaluate_rows(const Joint& joint, int number, bool loop, const Driven& u, const MovingSide& a,
                        const MovingSide& b) {
  JointRows out;
  out.size = joint.size();
  const JointGeometry<double> q = geometry<double>(joint.place, a.side, b.side);
  for (int i = 0; i < out.size; ++i) {
    const Row<double> r = evaluate_row<double>(loop ? joint.loop_row(i) : joint.row(i), joint.place, q, u);
    const double second =
        r.second + centripetal<double>(r.a, a.side, a.omega) + centripetal<double>(r.b, b.side, b.omega);
    out.row[i] = {number,
                  r.g,
                  r.rate_in_time,
                  second,
                  twist_gradient<double>(r.a, a.side.R),
                  twist_gradient<double>(r.b, b.side.R)};
  }
  return out;
}

std::vector<JointRow> joint_rows(const JointTree& tree, double t, const BodyMotion<double>* motions) {
  std::vector<JointRow> rows;
  const auto side = [&](int body) {
    if (body < 0) return MovingSide{};
    const BodyMotion<double>& m = motions[body];
    const Vec3<double> omega = m.R * m.Omega;
    return MovingSide{side_of<double>(m.x, m.R, m.v, omega), omega};
  };
  for (std::size_t j = 0; j < tree.joints.size(); ++j) {
    const Joint& joint = tree.joints[j];
    const JointRows of = evaluate_rows(joint, int(j), false, joint.value(t), side(joint.place.a), side(joint.place.b));
    rows.insert(rows.end(), of.begin(), of.end());
  }
  return rows;
}

} // namespace gyrod
