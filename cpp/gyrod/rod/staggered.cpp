// Derivatives of the forces of a rod on a staggered grid: analytic, block by block.
#include "gyrod/rod/staggered.hpp"

namespace gyrod {

inline void StaggeredGrid::blocks(double t, const RodState<double>& s, const EndMotion* ends, Blocks& out) const {
  out.clear_row(0);
  for (int j = 0; j < N_; ++j) { // one pass over memory: a row is cleared just before it is filled
    out.clear_row(j + 1);
    segment_blocks(s, j, out);
    if (j > 0) vertex_blocks(s, j, out);
  }
  for (int e = 0; e < 2; ++e)
    if (d_.ends[e].clamped) clamp_blocks(s, e, ends[e], out);
  if (d_.coupled) coupling_blocks(s, out);
  add_load_blocks(t, s, out);
}

// Cell j + 1 holds segment j; its force acts on vertices j (cell j) and j + 1.
inline void StaggeredGrid::segment_blocks(const RodState<double>& s, int j, Blocks& out) const {
  const double ds = d_.ds[i(j)];
  const M3& R = s.R[i(j)];
  const Vec3<double>&G = s.G[i(j)], &F = s.F[i(j)], &y = s.y[i(j)];
  const Vec3<double> Omega = s.w[i(j)].tail<3>(), c2 = 2.0 * d_.cG[i(j)];
  const M3 EG = cross_matrix<double>(G);

  // dF = FU du + FT Theta + F0 e + FV du' + FO Omega + F00 w0
  M3 H = d_.CG[i(j)], FU, FT, FV = M3::Zero(), FO = M3::Zero();
  Vec3<double> F0, F00 = Vec3<double>::Zero();
  const bool stretch = d_.strain == Strain::stretch;
  if (d_.damped) {
    M3 D = -cross_matrix<double>(Omega);
    D.add_to_diagonal(s.w[i(j)][0]);
    M3 Ey = cross_matrix<double>(y);
    Vec3<double> Y = y, C0 = G;
    FV = R.transpose(), FO = EG;
    if (stretch) { // the third rate is <t, u'>, whose derivatives follow below
      D.row(2).setZero(), Ey.row(2).setZero(), FV.row(2).setZero(), FO.row(2).setZero();
      Y[2] = C0[2] = 0.0;
    }
    if (stretch) H.col(2).setZero();
    H += c2.asDiagonal() * D;
    FV = c2.asDiagonal() * FV, FO = c2.asDiagonal() * FO;
    F00 = c2.cwiseProduct(C0);
    FT = H * EG + c2.asDiagonal() * Ey;
    F0 = H * G + c2.cwiseProduct(Y);
  } else {
    if (stretch) H.col(2).setZero();
    FT = H * EG;
    F0 = H * G;
  }
  FU = H * R.transpose();
  M3 B = R, across = M3::Zero(); // force = B F; `across`: derivative of the direction of F3 in a stretched segment
  Vec3<double> Fs = F;
  if (stretch) {
    const double length = s.u[i(j)].norm();
    const Vec3<double> tangent = s.u[i(j)] / length;
    const M3 turn = (M3::Identity() - tangent * tangent.transpose()) / length;
    FU += d_.CG[i(j)].col(2) * tangent.transpose();
    if (d_.damped) {
      FU.row(2) += c2[2] * s.ud[i(j)].transpose() * turn;
      FV.row(2) += c2[2] * tangent.transpose();
    }
    B.col(2) = tangent;
    across = F[2] * turn;
    Fs[2] = 0.0;
  }
  const M3 EF = cross_matrix<double>(Fs);

  // force on vertex j, its opposite on vertex j + 1
  const M3 fU = (B * FU + across) / ds, fT = B * FT - R * EF;
  const Vec3<double> f0 = B * F0 + R * Fs;
  // moment ds G x Fs, where Fs = S F
  M3 EGs = EG;
  if (stretch) EGs.col(2).setZero();
  const M3 mU = EGs * FU - EF * R.transpose(), mT = ds * (EGs * FT - EF * EG);
  const Vec3<double> m0 = ds * (EGs * F0 + G.cross(Fs));

  const int a = j, b = j + 1; // cells of the vertices; the segment belongs to b
  KBlock &aa = out.q(a, a), &ab = out.q(a, b), &ba = out.q(b, a), &bb = out.q(b, b);
  aa.bottomRightCorner<3, 3>() -= fU, ab.bottomRightCorner<3, 3>() += fU;
  ba.bottomRightCorner<3, 3>() += fU, bb.bottomRightCorner<3, 3>() -= fU;
  ab.block<3, 3>(3, 1) += fT, bb.block<3, 3>(3, 1) -= fT;
  ab.block<3, 1>(3, 0) += f0, bb.block<3, 1>(3, 0) -= f0;
  ba.topRightCorner<3, 3>() -= mU, bb.topRightCorner<3, 3>() += mU;
  bb.block<3, 3>(0, 1) += mT, bb.block<3, 1>(0, 0) += m0;
  if (!d_.damped) return;

  const M3 fV = B * FV / ds, fO = B * FO, mV = EGs * FV, mO = ds * (EGs * FO);
  const Vec3<double> f00 = B * F00, m00 = ds * (EGs * F00);
  KBlock &vaa = out.v(a, a), &vab = out.v(a, b), &vba = out.v(b, a), &vbb = out.v(b, b);
  vaa.bottomRightCorner<3, 3>() -= fV, vab.bottomRightCorner<3, 3>() += fV;
  vba.bottomRightCorner<3, 3>() += fV, vbb.bottomRightCorner<3, 3>() -= fV;
  vab.block<3, 3>(3, 1) += fO, vbb.block<3, 3>(3, 1) -= fO;
  vab.block<3, 1>(3, 0) += f00, vbb.block<3, 1>(3, 0) -= f00;
  vba.topRightCorner<3, 3>() -= mV, vbb.topRightCorner<3, 3>() += mV;
  vbb.block<3, 3>(0, 1) += mO, vbb.block<3, 1>(0, 0) += m00;
}

inline void StaggeredGrid::gradient_derivative(const RodState<double>& s, int n, M4& gq, M4& gv) const {
  const Zeta<double>& z = s.zeta[i(n)];
  const Vec3<double> h = s.W[i(n)].tail<3>();
  const Vec3<double>& M = s.M[i(n)];
  const double kappa = d_.kappa[i(n)], k = d_.pull[i(n)];
  // dM = MW dW + NW dW'
  M34 MW;
  MW.col(0) = (kappa * z.z1) * (d_.CK[i(n)] * h);
  MW.rightCols<3>() = (kappa * z.z) * d_.CK[i(n)];
  if (d_.damped) {
    const Vec3<double> c2 = (2.0 * kappa) * d_.cK[i(n)], hd = s.Wd[i(n)].tail<3>();
    const double wd = s.Wd[i(n)][0];
    MW.col(0) += c2.cwiseProduct(z.z1 * hd + (z.z2 * wd) * h);
    MW.rightCols<3>().diagonal() += (z.z1 * wd) * c2;
    M34 NW = M34::Zero();
    NW.col(0) = z.z1 * c2.cwiseProduct(h);
    NW.rightCols<3>().diagonal() = z.z * c2;
    gv.row(0) = (k * z.z1) * (h.transpose() * NW);
    gv.bottomRows<3>() = (k * z.z) * NW;
  }
  gq.row(0) = (k * z.z1) * (h.transpose() * MW);
  gq.bottomRows<3>() = (k * z.z) * MW;
  gq(0, 0) += k * z.z2 * M.dot(h);
  gq.block<1, 3>(0, 1) += (k * z.z1) * M.transpose();
  gq.block<3, 1>(1, 0) += (k * z.z1) * M;
}

// Vertex n couples segments n - 1 (cell n) and n (cell n + 1).
inline void StaggeredGrid::vertex_blocks(const RodState<double>& s, int n, Blocks& out) const {
  const Vec4<double>&W = s.W[i(n)], &g = s.gW[i(n)];
  M4 gq, gv;
  gradient_derivative(s, n, gq, gv);
  const M4 Db = 0.5 * quaternion_matrix<double>(W); // dW = Db c_b + Da c_a
  const M4 Da = conjugate_columns(M4(0.5 * quaternion_matrix_right<double>(W)));
  const int a = n, b = n + 1;
  if (d_.damped) { // dW' = Q dW + Db w_b + Da w_a
    const M4 Q = 0.5 * (quaternion_matrix_right<double>(s.w[i(n)]) +
                        quaternion_matrix<double>(conjugate<double>(s.w[i(n - 1)])));
    gq += gv * Q;
    const M4 Wr = 0.5 * quaternion_matrix_right<double>(conjugate<double>(W));
    const M4 Wl = -0.5 * quaternion_matrix<double>(conjugate<double>(W));
    const M4 va = Wr * gv, vb = Wl * gv;
    add_moments(out.v(a, a), va, Da), add_moments(out.v(a, b), va, Db);
    add_moments(out.v(b, a), vb, Da), add_moments(out.v(b, b), vb, Db);
  }
  const M4 qa = before_derivative(g, W, gq), qb = behind_derivative(g, W, gq);
  add_moments(out.q(a, a), qa, Da), add_moments(out.q(a, b), qa, Db);
  add_moments(out.q(b, a), qb, Da), add_moments(out.q(b, b), qb, Db);
}

// W = V²: dW = (L(V) + R(V)) dV, gV = g conj(V) + conj(V) g.
inline void StaggeredGrid::clamp_blocks(const RodState<double>& s, int e, const EndMotion& end, Blocks& out) const {
  const int n = e ? N_ : 0, cell = e ? N_ : 1;
  const Vec4<double>&V = s.V[i(e)], &g = s.gW[i(n)];
  const auto both = [](const Vec4<double>& q) -> M4 {
    return quaternion_matrix<double>(q) + quaternion_matrix_right<double>(q);
  };
  M4 gq, gv;
  gradient_derivative(s, n, gq, gv);
  const M4 square = both(V), back = both(conjugate<double>(V));
  const M4 D = e ? conjugate_columns(M4(0.5 * quaternion_matrix_right<double>(V)))
                 : M4(0.5 * quaternion_matrix<double>(V)); // dV = D c
  M4 dg = gq * square;                                     // derivative of gW with respect to V
  const auto derivative = [&](const M4& dgV, const Vec4<double>& gV) {
    return e ? before_derivative(gV, V, dgV) : behind_derivative(gV, V, dgV);
  };
  if (d_.damped) {
    const Vec4<double> w0(0.0, end.Omega[0], end.Omega[1], end.Omega[2]);
    const Vec4<double>&wa = e ? s.w[i(N_ - 1)] : w0, &wb = e ? w0 : s.w[0];
    const M4 Q = 0.5 * (quaternion_matrix_right<double>(wb) + quaternion_matrix<double>(conjugate<double>(wa)));
    dg += gv * (square * Q + both(s.Vd[i(e)]));
    const M4 dgv = back * (gv * square);
    add_moments(out.v(cell, cell), derivative(dgv, Vec4<double>::Zero()), D);
  }
  const Vec4<double> Vc = conjugate<double>(V), gV = multiply<double>(g, Vc) + multiply<double>(Vc, g);
  const M4 dgV = back * dg + conjugate_columns(both(g));
  add_moments(out.q(cell, cell), derivative(dgV, gV), D);
}

// Terms of a coupled section: dF_j = CX dK_n/2 and dM_n = share CX' dE_j over half cells (j, n).
inline void StaggeredGrid::coupling_blocks(const RodState<double>& s, Blocks& out) const {
  const bool stretch = d_.strain == Strain::stretch;
  for (int j = 0; j < N_; ++j) {
    M3 B = s.R[i(j)], EG = cross_matrix<double>(s.G[i(j)]);
    M34 Ec; // dE of c_j
    Ec << s.G[i(j)], EG;
    M3 Ex = s.R[i(j)].transpose() / d_.ds[i(j)];
    if (stretch) {
      const Vec3<double> tangent = s.u[i(j)].normalized();
      B.col(2) = tangent, Ex.row(2) = tangent.transpose() / d_.ds[i(j)];
      Ec.row(2).setZero(), EG.col(2).setZero();
    }
    for (int n : {j, j + 1}) {
      if (!(d_.weight[i(n)] > 0.0)) continue;
      const double kappa = d_.kappa[i(n)], k = d_.pull[i(n)];
      const Zeta<double>& z = s.zeta[i(n)];
      const Vec4<double>& W = s.W[i(n)];
      const Vec3<double> h = W.tail<3>();
      M34 KW; // dK of W
      KW.col(0) = (kappa * z.z1) * h, KW.rightCols<3>() = kappa * z.z * M3::Identity();
      // the segments beside the vertex: cells, dW of their c, and the moment on them from dgW
      struct Side {
        int cell;
        M4 D;
        M34 m;
      } sides[2];
      int count = 0;
      if (n > 0 && n < N_) {
        sides[count++] = {n, conjugate_columns(M4(0.5 * quaternion_matrix_right<double>(W))),
                          0.5 * rows(quaternion_matrix_right<double>(conjugate<double>(W)))};
        sides[count++] = {n + 1, 0.5 * quaternion_matrix<double>(W),
                          -0.5 * rows(quaternion_matrix<double>(conjugate<double>(W)))};
      } else {
        const int e = n ? 1 : 0;
        const Vec4<double>& V = s.V[i(e)];
        const M4 square = quaternion_matrix<double>(V) + quaternion_matrix_right<double>(V);
        const Vec4<double> Vc = conjugate<double>(V);
        const M4 back = quaternion_matrix<double>(Vc) + quaternion_matrix_right<double>(Vc);
        if (e)
          sides[count++] = {N_, square * conjugate_columns(M4(0.5 * quaternion_matrix_right<double>(V))),
                            0.5 * rows(quaternion_matrix_right<double>(Vc)) * back};
        else
          sides[count++] = {1, square * (0.5 * quaternion_matrix<double>(V)),
                            -0.5 * rows(quaternion_matrix<double>(Vc)) * back};
      }
      Matrix<double, 4, 3> gM; // dgW of dM
      gM.row(0) = (k * z.z1) * h.transpose(), gM.bottomRows<3>() = k * z.z * M3::Identity();
      for (int side = 0; side < count; ++side) {
        const Side& o = sides[side];
        const M34 dF = 0.5 * d_.CX[i(j)] * KW * o.D; // of c of that side
        out.q(j, o.cell).bottomLeftCorner<3, 4>() += B * dF;
        out.q(j + 1, o.cell).bottomLeftCorner<3, 4>() -= B * dF;
        out.q(j + 1, o.cell).topLeftCorner<3, 4>() += d_.ds[i(j)] * EG * dF;
        const M3 dM = share(j, n) * (o.m * gM) * d_.CX[i(j)].transpose();
        out.q(o.cell, j + 1).topLeftCorner<3, 4>() += dM * Ec;
        out.q(o.cell, j + 1).topRightCorner<3, 3>() += dM * Ex;
        out.q(o.cell, j).topRightCorner<3, 3>() -= dM * Ex;
      }
    }
  }
}

inline void StaggeredGrid::end_blocks(double t, const RodState<double>& s, int e, const EndMotion& end,
                                      EndBlocks& out) const {
  out.clear();
  const int n = e ? N_ : 0, j = e ? N_ - 1 : 0; // the segment's cell is j + 1, the second of the two
  const Vec4<double>&V = s.V[i(e)], &g = s.gW[i(n)];
  const auto both = [](const Vec4<double>& q) -> M4 {
    return quaternion_matrix<double>(q) + quaternion_matrix_right<double>(q);
  };
  M4 gq, gv;
  gradient_derivative(s, n, gq, gv);
  const Vec4<double> Vc = conjugate<double>(V), gV = multiply<double>(g, Vc) + multiply<double>(Vc, g);
  const M4 square = both(V), back = both(Vc);
  const M4 Da = conjugate_columns(M4(0.5 * quaternion_matrix_right<double>(V))),
           Db = 0.5 * quaternion_matrix<double>(V);
  const M4 &own = e ? Da : Db, &ends = e ? Db : Da; // dV = own c + ends c_end
  const auto on_segment = [&](const M4& dgV, const Vec4<double>& G) {
    return e ? before_derivative(G, V, dgV) : behind_derivative(G, V, dgV);
  };
  const auto on_end = [&](const M4& dgV, const Vec4<double>& G) {
    return e ? behind_derivative(G, V, dgV) : before_derivative(G, V, dgV);
  };
  M4 dg = gq * square;
  if (d_.damped) {
    const Vec4<double> w0(0.0, end.Omega[0], end.Omega[1], end.Omega[2]);
    const Vec4<double>&wa = e ? s.w[i(N_ - 1)] : w0, &wb = e ? w0 : s.w[0];
    const M4 Q = 0.5 * (quaternion_matrix_right<double>(wb) + quaternion_matrix<double>(conjugate<double>(wa)));
    dg += gv * (square * Q + both(s.Vd[i(e)]));
    const M4 dgv = back * (gv * square), a = on_segment(dgv, Vec4<double>::Zero()),
             b = on_end(dgv, Vec4<double>::Zero());
    out.spin[1].topRows<3>() = M4(a * ends).bottomRightCorner<3, 3>();
    out.moment_v[1].leftCols<4>() = M4(b * own).bottomRows<3>();
    out.moment_spin = M4(b * ends).bottomRightCorner<3, 3>();
  }
  const M4 dgV = back * dg + conjugate_columns(both(g)), a = on_segment(dgV, gV), b = on_end(dgV, gV);
  out.turn[1].topRows<3>() = M4(a * ends).bottomRightCorner<3, 3>();
  out.moment_q[1].leftCols<4>() = M4(b * own).bottomRows<3>();
  out.moment_turn = M4(b * ends).bottomRightCorner<3, 3>();
  for (const RodLoad& load : d_.loads) { // moments that keep their direction in space
    Vec3<double> F, M;
    load.value(t, F, M);
    for (const auto& h : load.moment)
      if (!load.follow && h.frame == (e ? -2 : -1))
        out.moment_turn += cross_matrix<double>(on_clamp(load, end, h.weight.cwiseProduct(M)));
  }
  if (!d_.coupled) return;

  const double kappa = d_.kappa[i(n)], k = d_.pull[i(n)];
  const Zeta<double>& z = s.zeta[i(n)];
  const Vec3<double> h = s.W[i(n)].tail<3>();
  M34 KW, Ec;
  KW.col(0) = (kappa * z.z1) * h, KW.rightCols<3>() = kappa * z.z * M3::Identity();
  M3 B = s.R[i(j)], EG = cross_matrix<double>(s.G[i(j)]), Ex = s.R[i(j)].transpose() / d_.ds[i(j)];
  Ec << s.G[i(j)], EG;
  if (d_.strain == Strain::stretch) {
    const Vec3<double> tangent = s.u[i(j)].normalized();
    B.col(2) = tangent, Ex.row(2) = tangent.transpose() / d_.ds[i(j)];
    Ec.row(2).setZero(), EG.col(2).setZero();
  }
  const M3 dF = M34(0.5 * d_.CX[i(j)] * KW * (square * ends)).rightCols<3>();
  out.turn[0].bottomRows<3>() += B * dF;
  out.turn[1].bottomRows<3>() -= B * dF;
  out.turn[1].topRows<3>() += d_.ds[i(j)] * EG * dF;
  Matrix<double, 4, 3> gM;
  gM.row(0) = (k * z.z1) * h.transpose(), gM.bottomRows<3>() = k * z.z * M3::Identity();
  const M34 m = e ? M34(-0.5 * rows(quaternion_matrix<double>(Vc)) * back)
                  : M34(0.5 * rows(quaternion_matrix_right<double>(Vc)) * back);
  const M3 dM = share(j, n) * (m * gM) * d_.CX[i(j)].transpose();
  out.moment_q[1].leftCols<4>() += dM * Ec;
  out.moment_q[1].rightCols<3>() += dM * Ex, out.moment_q[0].rightCols<3>() -= dM * Ex;
}

inline void StaggeredGrid::hosted(double t, const RodState<double>& s, int e, const EndMotion& motion,
                                  const HostMotion& m, const Blocks& blocks, HostedEnd& h) const {
  const RodEnd& end = d_.ends[e];
  const int n = e ? N_ : 0, segment = e ? 0 : 1; // of the two cells at the end, counted from it, the segment's one
  EndBlocks own;
  if (end.clamped)
    end_blocks(t, s, e, motion, own);
  else
    own.clear();
  const auto [R, Ea, turn_p, x_p, spin_p, v_p, spin_v, v_v] = EndMap(end, motion, m);
  const Vec3<double> f = s.f[std::size_t(n)];
  using M36 = EndMap::M36;
  const auto side = [&](int k) { return k == segment ? 1 : 0; }; // in EndBlocks
  for (int k = 0; k <= blocks.reach(); ++k) {
    const int c = e ? n - k : k;
    if (c < 0 || c > N_) break;
    Matrix<double, 6, 3> qx = blocks.q(c, n).rightCols<3>();
    Matrix<double, 6, 3> vx = blocks.v(c, n).rightCols<3>();
    Matrix<double, 6, 3> qt = Matrix<double, 6, 3>::Zero(), vt = qt;
    Matrix<double, 3, 7> fq = blocks.q(n, c).bottomRows<3>();
    Matrix<double, 3, 7> fv = blocks.v(n, c).bottomRows<3>();
    Matrix<double, 3, 7> mq = Matrix<double, 3, 7>::Zero(), mv = mq;
    if (k < 2) qt = own.turn[side(k)], vt = own.spin[side(k)], mq = own.moment_q[side(k)], mv = own.moment_v[side(k)];
    if (k == 0) { // its vertex is the body's: rows and columns of its own go there
      const M36 fp = qx.bottomRows<3>() * x_p + vx.bottomRows<3>() * v_p + qt.bottomRows<3>() * turn_p +
                     vt.bottomRows<3>() * spin_p;
      const M36 fs = vx.bottomRows<3>() * v_v + vt.bottomRows<3>() * spin_v;
      const M36 mp =
          mq.rightCols<3>() * x_p + mv.rightCols<3>() * v_p + own.moment_turn * turn_p + own.moment_spin * spin_p;
      const M36 ms = mv.rightCols<3>() * v_v + own.moment_spin * spin_v;
      h.own_place << Ea * fp + R * mp, fp;
      h.own_speed << Ea * fs + R * ms, fs;
      // (V x r) x f + V x (R m)
      h.own_place.topLeftCorner<3, 3>() += cross_matrix<double>(f) * Ea;
      if (end.clamped) h.own_place.topLeftCorner<3, 3>() -= cross_matrix<double>(R * s.end_moment[e]);
      qx.bottomRows<3>().setZero(), vx.bottomRows<3>().setZero();
      qt.bottomRows<3>().setZero(), vt.bottomRows<3>().setZero();
      fq.rightCols<3>().setZero(), fv.rightCols<3>().setZero();
      mq.rightCols<3>().setZero(), mv.rightCols<3>().setZero();
    }
    h[k].by_place = qx * x_p + vx * v_p + qt * turn_p + vt * spin_p;
    h[k].by_speed = vx * v_v + vt * spin_v;
    h[k].wrench_q << Ea * fq + R * mq, fq;
    h[k].wrench_v << Ea * fv + R * mv, fv;
  }
}

std::unique_ptr<Discretization> make_staggered(const RodDescription& d) { return std::make_unique<StaggeredGrid>(d); }

} // namespace gyrod
