// All kinds of joints by name.
#pragma once

#include "gyrod/joints/cylindrical.hpp"
#include "gyrod/joints/distance.hpp"
#include "gyrod/joints/fixed.hpp"
#include "gyrod/joints/helical.hpp"
#include "gyrod/joints/planar.hpp"
#include "gyrod/joints/prismatic.hpp"
#include "gyrod/joints/revolute.hpp"
#include "gyrod/joints/spherical.hpp"
#include "gyrod/joints/translational.hpp"
#include "gyrod/joints/universal.hpp"

namespace gyrod {

inline const JointType* find_joint(std::string_view name) {
  for (const JointType* t :
       {&joints::fixed, &joints::spherical, &joints::revolute, &joints::prismatic, &joints::cylindrical,
        &joints::planar, &joints::translational, &joints::universal, &joints::helical, &joints::distance})
    if (t->name == name) return t;
  return nullptr;
}

} // namespace gyrod
