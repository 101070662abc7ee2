// The union of curves with a radius as a distance on a grid, kept only near them, and its surface.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gyrod/geometry/curve.hpp"

namespace gyrod::space {

class Field {
public:
  // `most` blocks of 512 points.
  Field(double spacing, std::size_t most) : h_(spacing), most_(most) {}

  // False where there would be more blocks than allowed.
  bool add(const Curves& curves);
  // Vertices (n, 3) and faces (m, 3), closed and turned outwards: marching tetrahedra, each cube cut into the six
  // around its diagonal, which fit those of its neighbours.
  void surface(std::vector<double>& vertices, std::vector<int>& faces) const;

  std::size_t blocks() const { return blocks_.size(); }

private:
  static constexpr int side = 8, size = side * side * side;
  struct Block {
    std::array<int, 3> at; // of its first point, in blocks
    std::array<float, size> values;
  };
  const Block* find(const std::array<int, 3>& at) const;
  bool capsule(const Piece& piece);

  double h_;
  std::size_t most_;
  std::vector<Block> blocks_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

} // namespace gyrod::space
