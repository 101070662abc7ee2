// Embedded explicit Runge-Kutta pairs: numbers only.
//
// To add a pair: a struct with `stages`, `order` (of the solution that is carried on), `control_order` (the
// exponent of the step controller is its inverse), c, a, b, e = b - b_hat, and `dense`: weights of the stages
// in y(t + s h) = y + h sum_j k_j sum_m dense[j][m] s^(m+1). The last stage is the first of the next step.
#pragma once

namespace gyrod {

struct DormandPrince54 { // Dormand, Prince 1980; dense output of Shampine 1986, order 4
  static constexpr int stages = 7, order = 5, control_order = 5, dense_degree = 4;
  static constexpr double c[7] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
  static constexpr double a[7][6] = {{},
                                     {1. / 5},
                                     {3. / 40, 9. / 40},
                                     {44. / 45, -56. / 15, 32. / 9},
                                     {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                     {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                     {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
  static constexpr double e[7] = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40};
  static constexpr double dense[7][4] = {{1, -183. / 64, 37. / 12, -145. / 128},
                                         {0, 0, 0, 0},
                                         {0, 1500. / 371, -1000. / 159, 1000. / 371},
                                         {0, -125. / 32, 125. / 12, -375. / 64},
                                         {0, 9477. / 3392, -729. / 106, 25515. / 6784},
                                         {0, -11. / 7, 11. / 3, -55. / 28},
                                         {0, 3. / 2, -4, 5. / 2}};
};

struct BogackiShampine32 { // Bogacki, Shampine 1989; dense output: cubic Hermite
  static constexpr int stages = 4, order = 3, control_order = 3, dense_degree = 3;
  static constexpr double c[4] = {0, 1. / 2, 3. / 4, 1};
  static constexpr double a[4][3] = {{}, {1. / 2}, {0, 3. / 4}, {2. / 9, 1. / 3, 4. / 9}};
  static constexpr double e[4] = {-5. / 72, 1. / 12, 1. / 9, -1. / 8};
  static constexpr double dense[4][3] = {{1, -4. / 3, 5. / 9}, {0, 1, -2. / 3}, {0, 4. / 3, -8. / 9}, {0, -1, 1}};
};

} // namespace gyrod
