#include "gyrod/mechanism/model.hpp"

#include "gyrod/mechanism/forms.hpp"
#include "gyrod/mechanism/spring.hpp"

namespace gyrod {

template class ForceBase<JointSpring>;
template JointGeometry<BodyDual> geometry(const JointPlace&, const Side<BodyDual>&, const Side<BodyDual>&);
template Row<BodyDual> evaluate_row(const RowKind&, const JointPlace&, const JointGeometry<BodyDual>&, const Driven&);

std::unique_ptr<MechanismEquations> make_mechanism(const std::string& formulation, MechanismModel model) {
  const bool directors = formulation.ends_with("-directors");
  if (directors || formulation.ends_with("-quaternion")) {
    if (formulation.starts_with("nullspace-"))
      return directors ? make_director_tree(std::move(model)) : make_quaternion_tree(std::move(model));
    if (formulation.starts_with("absolute-")) return make_absolute(directors, std::move(model));
  }
  throw std::invalid_argument("mechanisms have no formulation " + formulation);
}

std::vector<JointRow> joint_rows(const JointTree& tree, double t, const BodyMotion<double>* motions) {
  std::vector<JointRow> rows;
  for (std::size_t j = 0; j < tree.joints.size(); ++j) {
    const Joint& joint = tree.joints[j];
    Vec3<double> wa = Vec3<double>::Zero(), wb = wa;
    const auto side = [&](int body, Vec3<double>& omega) {
      if (body < 0) return ground_side<double>();
      const BodyMotion<double>& m = motions[body];
      omega = m.R * m.Omega;
      return side_of<double>(m.x, m.R, m.v, omega);
    };
    const Side<double> a = side(joint.place.a, wa), b = side(joint.place.b, wb);
    const JointGeometry<double> q = geometry<double>(joint.place, a, b);
    const Driven u = joint.value(t);
    for (int i = 0; i < joint.size(); ++i) {
      const Row<double> r = evaluate_row<double>(joint.row(i), joint.place, q, u);
      const double second = r.second + centripetal<double>(r.a, a, wa) + centripetal<double>(r.b, b, wb);
      rows.push_back(
          {int(j), r.g, r.rate_in_time, second, twist_gradient<double>(r.a, a.R), twist_gradient<double>(r.b, b.R)});
    }
  }
  return rows;
}

} // namespace gyrod
