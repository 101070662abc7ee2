#include "gyrod/rigid/forces.hpp"

namespace gyrod {

template class ForceBase<AppliedForce>;
template class ForceBase<SpringDamper>;
template class ForceBase<FrameForce>;
template class ForceBase<Cable>;
template class ForceBase<Bushing>;
template class ForceBase<UserForce>;

} // namespace gyrod
