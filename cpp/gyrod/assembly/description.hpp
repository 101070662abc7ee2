// A system as the core gets it: plain values, made once, never changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyrod/mechanism/model.hpp"
#include "gyrod/rod/contacts.hpp"
#include "gyrod/rod/description.hpp"
#include "gyrod/rod/links.hpp"

namespace gyrod {

struct SystemDescription {
  std::string formulation = "nullspace-quaternion";
  FormulationOptions options;
  std::vector<RigidBody> bodies;
  Forces forces;
  Vec3<double> gravity = Vec3<double>::Zero();
  std::optional<JointTree> joints; // none: bodies are free, or turn about points of space
  std::vector<RodDescription> rods;
  std::vector<RodLink> links;
  ContactSet contacts;
};

} // namespace gyrod
