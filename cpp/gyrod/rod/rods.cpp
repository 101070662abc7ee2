#include "gyrod/rod/chain.hpp"
#include "gyrod/rod/elements.hpp"
#include "gyrod/rod/forms.hpp"

namespace gyrod {

template void BasicRodDescription<double>::finish();
template RodState<double>::RodState(const RodDescription&);
template RodState<Dual<1>>::RodState(const RodDescription&);

std::unique_ptr<RodEquations> make_rods(const std::string& formulation, std::vector<RodDescription> rods,
                                        const FormulationOptions& options, std::vector<RodLink> links,
                                        ContactSet contacts) {
  for (RodLink& link : links)
    for (LinkPoint& p : link.ends) p.node = p.rod >= 0 && rods[std::size_t(p.rod)].degree > 0;
  for (RodPair& c : contacts.among_rods)
    for (int e = 0; e < 2; ++e) c.nodal[e] = rods[std::size_t(c.rods[e])].degree > 0;
  const bool held = std::any_of(rods.begin(), rods.end(), [](const RodDescription& r) { return r.held > 0; });
  const Turning form{coordinates_of(formulation), is_absolute(formulation)};
  if (held) return make_rods_held(form, std::move(rods), options, std::move(links), std::move(contacts));
  return make_rods_free(form, std::move(rods), options, std::move(links), std::move(contacts));
}

std::unique_ptr<Discretization> make_staggered(const RodDescription& d); // staggered.cpp

std::unique_ptr<Discretization> make_discretization(const RodDescription& d) {
  return d.degree ? make_elements(d) : make_staggered(d);
}

RodShape measure(RodDescription description, const double* x, const double* p) {
  const RodChain<double> rod(std::move(description));
  std::vector<double> y(std::size_t(rod.size), 0.0);
  for (int n = 0; n <= rod.N; ++n) {
    const std::size_t i = std::size_t(n);
    if (rod.moves(n)) std::copy_n(x + 3 * i, 3, y.data() + rod.x_at[i]);
    if (rod.turns(n)) std::copy_n(p + 4 * std::size_t(rod.d.frame_of(n)), 4, y.data() + rod.p_at[i]);
  }
  RodState<double> s(rod.d);
  rod.gather(s, y.data());
  const auto grid = make_discretization(rod.d);
  grid->forces(0.0, s, rod.ends);
  grid->publish(s);
  RodShape shape{std::move(s.E), std::move(s.K)};
  for (std::size_t j = 0; j < shape.strain.size(); ++j) shape.strain[j] += rod.d.G0[j] - Vec3<double>(0, 0, 1);
  for (std::size_t n = 0; n < shape.curvature.size(); ++n)
    shape.curvature[n] = rod.d.bent(int(n)) ? Vec3<double>(shape.curvature[n] + rod.d.K0[n]) : rod.d.K0[n];
  return shape;
}

} // namespace gyrod
