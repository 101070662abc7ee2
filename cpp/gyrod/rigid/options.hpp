// Variants of the formulations.
#pragma once

namespace gyrod {

struct FormulationOptions {
  bool spatial = false;         // null-space forms: v is the spatial angular velocity (remark 4.6)
  bool printed = false;         // absolute-quaternion: eq. (40) as printed instead of the exact index-0 form
  bool polar = false;           // directors: project by the polar factor instead of Spurrier-Klumpp
  bool fictive_moment = false;  // absolute-quaternion: I0 = half the trace instead of 0 (remark 5.3)
  double baumgarte_omega = 0.0; // absolute forms: g'' + 2 r g' + omega² g = 0
  double baumgarte_r = 0.0;
  int level = 0;           // absolute forms of mechanisms: 1, 2, 3 keep the multipliers, with constraints of that index
  bool qr = false;         // absolute forms of mechanisms: a numerical null space
  bool stabilised = false; // level 2: positions held too, by multipliers of their own (Gear, Gupta, Leimkuhler)
};

} // namespace gyrod
