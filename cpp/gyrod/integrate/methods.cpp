// The one list of integrators; they are compiled here.
#include "gyrod/integrate/methods.hpp"

#include "gyrod/integrate/dop853.hpp"
#include "gyrod/integrate/dopri5.hpp"
#include "gyrod/integrate/moreau.hpp"
#include "gyrod/integrate/odex.hpp"
#include "gyrod/integrate/radau5.hpp"
#include "gyrod/integrate/rodas.hpp"
#include "gyrod/integrate/seulex.hpp"

namespace gyrod {

std::unique_ptr<Integrator> make_integrator(const std::string& name, Equations& e, const StepOptions& o) {
  if (name == "dopri5") return std::make_unique<Dopri5>(e, o);
  if (name == "dop853") return std::make_unique<Dop853>(e, o);
  if (name == "odex") return std::make_unique<Odex>(e, o);
  if (name == "radau5") return std::make_unique<Radau5>(e, o);
  if (name == "rodas") return std::make_unique<Rodas>(e, o);
  if (name == "seulex") return std::make_unique<Seulex>(e, o);
  if (name == "moreau") return std::make_unique<Moreau>(e, o);
  throw std::invalid_argument("no method " + name);
}

} // namespace gyrod
