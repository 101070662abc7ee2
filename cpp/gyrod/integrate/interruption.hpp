#pragma once

#include <exception>

namespace gyrod {

// What the tick of a run throws when a signal arrived; the run ends as interrupted and keeps the reason.
struct Interruption {
  std::exception_ptr reason;
};

} // namespace gyrod
