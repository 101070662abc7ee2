#include "gyrod/geometry/field.hpp"

#include <algorithm>
#include <cmath>

namespace gyrod::space {

namespace {
// Spacings around the surface in which distances are known: more than the diagonal of a cube.
constexpr double band = 1.75;
// Largest sag of the chords, in spacings.
constexpr double straight = 0.01;

std::uint64_t key(const std::array<int, 3>& at) {
  std::uint64_t found = 0;
  for (const int x : at) found = found << 21 | (std::uint64_t(x + (1 << 20)) & ((1u << 21) - 1));
  return found;
}
} // namespace

const Field::Block* Field::find(const std::array<int, 3>& at) const {
  const auto found = index_.find(key(at));
  return found == index_.end() ? nullptr : &blocks_[found->second];
}

bool Field::add(const Curves& curves) {
  std::vector<Piece> open;
  for (std::size_t f = 0; f < curves.frames; ++f)
    for (std::size_t c = 0; c < curves.cells; ++c) {
      open.assign(1, Piece(curves.cell(f, c), curves.degree, int(c)));
      open.back().measure(curves.degree);
      while (!open.empty()) {
        const Piece piece = open.back();
        open.pop_back();
        if (piece.sag > straight * h_ && piece.end - piece.begin > 1e-4) {
          Piece left(piece.cell, piece.begin, 0.5 * (piece.begin + piece.end)), right(piece.cell, left.end, piece.end);
          piece.split(curves.degree, left, right);
          open.push_back(right);
          open.push_back(left);
        } else if (!capsule(piece)) {
          return false;
        }
      }
    }
  return true;
}

// All in spacings from here on.
bool Field::capsule(const Piece& piece) {
  const double reach = (piece.radius + std::abs(piece.widens)) / h_ + band;
  const Point m = piece.middle / h_, e = piece.half / h_;
  const double square = e.dot(e), over = square > 0.0 ? 1.0 / square : 0.0, r = piece.radius / h_,
               widens = piece.widens / h_;
  int low[3], high[3];
  for (int i = 0; i < 3; ++i) {
    low[i] = int(std::ceil(m[i] - std::abs(e[i]) - reach)), high[i] = int(std::floor(m[i] + std::abs(e[i]) + reach));
  }
  const auto block_of = [](int x) { return x >= 0 ? x / side : -((side - 1 - x) / side); };
  std::array<int, 3> at;
  for (at[0] = block_of(low[0]); at[0] <= block_of(high[0]); ++at[0])
    for (at[1] = block_of(low[1]); at[1] <= block_of(high[1]); ++at[1])
      for (at[2] = block_of(low[2]); at[2] <= block_of(high[2]); ++at[2]) {
        Point centre;
        for (int i = 0; i < 3; ++i) centre[i] = side * at[i] + 0.5 * (side - 1) - m[i];
        const double x = std::min(std::max(centre.dot(e) * over, -1.0), 1.0);
        if ((centre - x * e).norm() > reach + 0.5 * (side - 1) * std::sqrt(3.0)) continue;
        const auto [found, fresh] = index_.try_emplace(key(at), std::uint32_t(blocks_.size()));
        if (fresh) {
          if (blocks_.size() >= most_) return false;
          blocks_.emplace_back();
          blocks_.back().at = at;
          blocks_.back().values.fill(float(band));
        }
        Block& block = blocks_[found->second];
        int from[3], to[3];
        for (int i = 0; i < 3; ++i)
          from[i] = std::max(low[i] - side * at[i], 0), to[i] = std::min(high[i] - side * at[i], side - 1);
        for (int i = from[0]; i <= to[0]; ++i)
          for (int j = from[1]; j <= to[1]; ++j) {
            const double px = side * at[0] + i - m[0], py = side * at[1] + j - m[1], pz = side * at[2] - m[2];
            float* row = &block.values[std::size_t(side * (side * i + j))];
            const double flat = px * e[0] + py * e[1];
            for (int k = from[2]; k <= to[2]; ++k) {
              const double z = pz + k, s = std::min(std::max((flat + z * e[2]) * over, -1.0), 1.0);
              const double ax = px - s * e[0], ay = py - s * e[1], az = z - s * e[2];
              const float d = float(std::sqrt(ax * ax + ay * ay + az * az) - r - s * widens);
              row[k] = d < row[k] ? d : row[k];
            }
          }
      }
  return true;
}

void Field::surface(std::vector<double>& vertices, std::vector<int>& faces) const {
  constexpr int wide = side + 1;
  // Corners of a cube by bits (x 1, y 2, z 4); six paths from 0 to 7.
  constexpr int tets[6][4] = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}};
  // Vertices on edges: by the lower end and the direction (1 to 7).
  std::vector<std::array<int, 8 * size>> numbers;
  std::vector<int> own(blocks_.size(), -1);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    float values[wide][wide][wide];
    const Block& block = blocks_[b];
    std::uint32_t beside[8];
    bool known[8];
    for (int n = 0; n < 8; ++n) {
      const auto found = index_.find(key({block.at[0] + (n & 1), block.at[1] + (n >> 1 & 1), block.at[2] + (n >> 2)}));
      known[n] = found != index_.end();
      beside[n] = known[n] ? found->second : 0;
    }
    for (int i = 0; i < wide; ++i)
      for (int j = 0; j < wide; ++j)
        for (int k = 0; k < wide; ++k) {
          const int n = i / side + 2 * (j / side) + 4 * (k / side);
          const int at = side * (side * (i % side) + j % side) + k % side;
          values[i][j][k] = known[n] ? blocks_[beside[n]].values[std::size_t(at)] : float(band);
        }
    const auto vertex = [&](int i, int j, int k, int low, int high) {
      if (low & ~high) std::swap(low, high); // one is a part of the other
      const int x[3] = {i + (low & 1), j + (low >> 1 & 1), k + (low >> 2)}, way = high & ~low;
      const int n = x[0] / side + 2 * (x[1] / side) + 4 * (x[2] / side);
      const int at = side * (side * (x[0] % side) + x[1] % side) + x[2] % side;
      int& mine = own[beside[n]];
      if (mine < 0) {
        mine = int(numbers.size());
        numbers.emplace_back().fill(-1);
      }
      int& number = numbers[std::size_t(mine)][std::size_t(8 * at + way)];
      if (number < 0) {
        const int y[3] = {x[0] + (way & 1), x[1] + (way >> 1 & 1), x[2] + (way >> 2)};
        const double a = values[x[0]][x[1]][x[2]], c = values[y[0]][y[1]][y[2]];
        const double t = std::min(std::max(a / (a - c), 1e-3), 1.0 - 1e-3); // no triangle without area
        number = int(vertices.size() / 3);
        for (int d = 0; d < 3; ++d)
          vertices.push_back(h_ * (side * block.at[std::size_t(d)] + x[d] + t * (y[d] - x[d])));
      }
      return number;
    };
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        for (int k = 0; k < side; ++k) {
          bool in[8];
          int inside = 0;
          for (int n = 0; n < 8; ++n) inside += in[n] = values[i + (n & 1)][j + (n >> 1 & 1)][k + (n >> 2)] < 0.0f;
          if (inside == 0 || inside == 8) continue;
          for (const auto& tet : tets) {
            int ins[4], outs[4], a = 0, b = 0;
            for (const int corner : tet) (in[corner] ? ins[a++] : outs[b++]) = corner;
            if (a == 0 || b == 0) continue;
            int order[4];
            std::copy_n(ins, a, order);
            std::copy_n(outs, b, order + a);
            // Orientation of the tetrahedron in this order.
            int edge[3][3];
            for (int n = 0; n < 3; ++n)
              for (int d = 0; d < 3; ++d) edge[n][d] = (order[n + 1] >> d & 1) - (order[0] >> d & 1);
            const int det = edge[0][0] * (edge[1][1] * edge[2][2] - edge[1][2] * edge[2][1]) -
                            edge[0][1] * (edge[1][0] * edge[2][2] - edge[1][2] * edge[2][0]) +
                            edge[0][2] * (edge[1][0] * edge[2][1] - edge[1][1] * edge[2][0]);
            const auto on = [&](int p, int q) { return vertex(i, j, k, order[p], order[q]); };
            const auto face = [&](int p, int q, int r) {
              faces.insert(faces.end(), {p, det > 0 ? q : r, det > 0 ? r : q});
            };
            if (a == 1) {
              face(on(0, 1), on(0, 2), on(0, 3));
            } else if (a == 3) {
              face(on(0, 3), on(1, 3), on(2, 3));
            } else {
              const int ik = on(0, 2), il = on(0, 3), jk = on(1, 2), jl = on(1, 3);
              face(ik, jl, jk);
              face(ik, il, jl);
            }
          }
        }
  }
}

} // namespace gyrod::space
