"""URDF: links and joints of robots against hand-computed places, random trees, and all that is refused."""

import contextlib
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gyrod.files import load
from gyrod.files import urdf_reading as module
from gyrod.files.urdf import load_urdf
from gyrod.model import Fixed, ModelError, Planar, Prismatic, Revolute


def link(name, xyz=(0, 0, 0), rpy=(0, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1), products=(0, 0, 0)):
    (ixx, iyy, izz), (ixy, ixz, iyz) = inertia, products
    return f"""<link name="{name}"><inertial><origin xyz="{row(xyz)}" rpy="{row(rpy)}"/><mass value="{mass!r}"/>
    <inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" ixy="{ixy!r}" ixz="{ixz!r}" iyz="{iyz!r}"/></inertial></link>"""


def frame(name):
    return f'<link name="{name}"/>'


def joint(name, kind, parent, child, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=None, more=""):
    given_axis = "" if axis is None else f'<axis xyz="{row(axis)}"/>'
    return f"""<joint name="{name}" type="{kind}"><origin xyz="{row(xyz)}" rpy="{row(rpy)}"/>
    <parent link="{parent}"/><child link="{child}"/>{given_axis}{more}</joint>"""


def row(values):
    return " ".join(repr(float(x)) for x in values)


def robot(*parts):
    return f'<?xml version="1.0"?>\n<robot name="r"><!-- made by hand -->{"".join(parts)}</robot>'


def problems(*args, read=load, **kwargs):
    with pytest.raises(ModelError) as caught:
        read(*args, **kwargs)
    for sentence in caught.value.problems:
        assert sentence.endswith((".", "?"))
    return caught.value.problems


def close(x, y, atol=1e-14):
    np.testing.assert_allclose(x, y, rtol=0, atol=atol)


TURN = np.pi / 2
# Two links of length 1 along their x axes; the elbow is turned about z by a quarter.
ARM = [
    frame("world"),
    link("upper", (0.5, 0, 0), mass=2.0),
    link("lower", (0.4, 0, 0), (TURN, 0, 0), inertia=(0.1, 0.2, 0.25)),
    joint("shoulder", "continuous", "world", "upper", (0, 0, 1), axis=(0, 0, 3)),
    joint("elbow", "revolute", "upper", "lower", (1, 0, 0), (0, 0, TURN), (0, 0, 1), '<limit lower="-1" upper="2"/>'),
]


# --- what becomes of it ----------------------------------------------------------------------------------------------


def test_a_two_link_arm():
    system = load(robot(*ARM), gravity=(0, 0, -1.6))
    assert system.names == ("upper", "lower")
    close(system.gravity, [0, 0, -1.6])
    upper, lower = system.bodies
    assert upper.mass == 2.0
    close(upper.position, [0.5, 0, 1])
    close(upper.matrix, np.eye(3))
    close(lower.position, [1, 0.4, 1])
    close(lower.matrix, Rotation.from_euler("z", TURN).as_matrix() @ Rotation.from_euler("x", TURN).as_matrix())
    close(lower.inertia, np.diag([0.1, 0.2, 0.25]))
    shoulder, elbow = system.joint("shoulder"), system.joint("elbow")
    assert [type(j) for j in (shoulder, elbow)] == [Revolute, Revolute]
    assert (shoulder.bodies, elbow.bodies) == (("ground", "upper"), ("upper", "lower"))
    close(shoulder.at, [0, 0, 1])
    close(elbow.at, [1, 0, 1])
    close(elbow.axis, [0, 0, 1])
    assert (shoulder.limits, elbow.limits) == (None, (-1.0, 2.0))
    system.check_consistent()


def test_another_configuration():
    system = load(robot(*ARM), positions={"shoulder": TURN, "elbow": -0.5})
    upper, lower = system.bodies
    close(upper.position, [0, 0.5, 1])
    angle = 2 * TURN - 0.5
    close(lower.position, [0.4 * np.cos(angle), 1 + 0.4 * np.sin(angle), 1])
    close(system.joint("elbow").at, [0, 1, 1])
    close(system.joint("elbow").limits, (-0.5, 2.5))  # angles count from the start
    system.check_consistent()


def test_text_path_and_bytes_of_other_encodings(tmp_path):
    text = robot(*ARM)
    system = load("\n  " + text)
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    assert load(path) == load(str(path)) == system
    path.write_bytes(text.replace('"1.0"?', '"1.0" encoding="utf-16"?').encode("utf-16"))
    assert load(path) == system
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load(path) == system


def test_the_base():
    parts = [link("base", (0, 0, 0.1)), link("arm"), joint("j", "continuous", "base", "arm", (1, 0, 0), axis=(0, 1, 0))]
    held = load(robot(*parts))
    assert held.joints[0] == Fixed("ground", "base", at=(0, 0, 0))
    assert held.joints[1].bodies == ("base", "arm")
    free = load(robot(*parts), base="free")
    assert [j.name for j in free.joints] == ["j"]
    assert free.bodies == held.bodies
    assert free.tree().parent == {"base": None, "arm": "base"}


def test_each_type_of_joint():
    limit = '<limit lower="-0.5" upper="0.75" effort="3" velocity="4"/><dynamics damping="0.2" friction="0"/>'
    kinds = {
        "revolute": limit,
        "continuous": '<dynamics damping="0.1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>',
        "prismatic": limit,
        "fixed": "",
        "floating": "",
        "planar": "",
    }
    parts = [frame("world")]
    for i, (kind, more) in enumerate(kinds.items()):
        parts += [
            link(f"of_{kind}"),
            joint(kind, kind, "world", f"of_{kind}", (i, 0, 0), (0, TURN, 0), (0, 0, 2), more),
        ]
    system = load(robot(*parts))
    system.check_consistent()
    found = {j.name: j for j in system.joints}
    assert {name: type(j) for name, j in found.items()} == {
        "revolute": Revolute,
        "continuous": Revolute,
        "prismatic": Prismatic,
        "fixed": Fixed,
        "planar": Planar,
    }
    for name in ("revolute", "continuous", "prismatic", "planar"):
        close(found[name].axis, [1, 0, 0])
    assert [found[n].limits for n in ("revolute", "continuous", "prismatic")] == [(-0.5, 0.75), None, (-0.5, 0.75)]
    assert [found[n].damping for n in ("revolute", "continuous", "prismatic")] == [0.2, 0.1, 0.2]
    assert system.tree().parent["of_floating"] is None


def test_the_axis_is_x_by_default_and_limits_of_half_a_turn_are_left_out():
    more = '<limit lower="-6.28" upper="3" effort="1" velocity="1"/>'
    system = load(robot(frame("w"), link("a"), joint("j", "revolute", "w", "a", more=more)))
    close(system.joint("j").axis, [1, 0, 0])
    assert system.joint("j").limits == (None, 3.0)
    none = '<limit effort="1" velocity="1"/>'
    assert load(robot(frame("w"), link("a"), joint("j", "revolute", "w", "a", more=none))).joint("j").limits is None
    half = '<limit upper="1"/>'
    assert load(robot(frame("w"), link("a"), joint("j", "revolute", "w", "a", more=half))).joint("j").limits == (
        0,
        1,
    )


def test_displacements_count_from_the_zero_of_the_file():
    more = '<limit lower="-0.5" upper="0.75"/>'
    parts = [link("rail", (0, 0.3, 0)), link("cart", (0, 0, 0.2), (0.3, 0.2, 0.1))]
    parts += [joint("slide", "prismatic", "rail", "cart", (0, 0, 1), (0, TURN, 0), (0, 0, 2), more)]
    system = load(robot(*parts), positions={"slide": 0.25})
    slide = system.joint("slide")
    assert slide.limits == (-0.5, 0.75)
    close(system.body("cart").position, [0.25 + 0.2, 0, 1])
    close(system.point("rail", slide.at_a), [0, 0, 1])
    close(system.point("cart", slide.at_b), [0.25, 0, 1])
    at = system.attachment(slide)
    e3 = system.body("rail").matrix @ at.frame_a[:, 2]
    close(e3 @ (system.point("cart", at.at_b) - system.point("rail", at.at_a)), 0.25)
    system.check_consistent()


LEGS = [(name, x, y) for name, x, y in (("fl", 1, 1), ("fr", 1, -1), ("bl", -1, 1), ("br", -1, -1))]


def quadruped(root="trunk"):
    parts = [] if root == "trunk" else [frame(root), joint("mount", "fixed", root, "trunk", (0, 0, 0.5))]
    parts += [link("trunk", (0, 0, 0.1), mass=10.0), frame("camera"), frame("lens")]
    parts += [joint("to_camera", "fixed", "trunk", "camera", (1, 0, 0)), joint("to_lens", "fixed", "camera", "lens")]
    for name, x, y in LEGS:
        parts += [
            frame(f"{name}_hip"),
            link(f"{name}_thigh", (0, 0, -0.2)),
            link(f"{name}_shank", (0, 0, -0.1)),
            frame(f"{name}_foot"),
            joint(f"{name}_frame", "fixed", "trunk", f"{name}_hip", (x, y, 0), (0, 0, TURN)),
            joint(f"{name}_roll", "revolute", f"{name}_hip", f"{name}_thigh", axis=(0, 1, 0)),
            joint(f"{name}_knee", "revolute", f"{name}_thigh", f"{name}_shank", (0, 0, -0.4), axis=(0, 1, 0)),
            joint(f"{name}_tip", "fixed", f"{name}_shank", f"{name}_foot", (0, 0, -0.4)),
        ]
    return robot(*parts)


def test_frames_without_mass_are_merged():
    system = load(quadruped(), base="free")
    assert len(system.bodies) == 9
    assert len(system.joints) == 8
    for name, x, y in LEGS:
        hip, knee = system.joint(f"{name}_roll"), system.joint(f"{name}_knee")
        assert hip.bodies == ("trunk", f"{name}_thigh")
        close(hip.at, [x, y, 0])
        close(hip.axis, [-1, 0, 0])  # y of a hip that is turned by a quarter
        close(knee.at, [x, y, -0.4])
        close(system.body(f"{name}_shank").position, [x, y, -0.5])
    assert system.tree().parent["trunk"] is None
    system.check_consistent()


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_root_without_mass(base):
    system = load(quadruped("footprint"), base=base)
    close(system.body("trunk").position, [0, 0, 0.6])
    names = [j.name for j in system.joints]
    assert ("mount" in names) == (base == "fixed")
    assert system.tree().parent["trunk"] == ("ground" if base == "fixed" else None)


def test_a_frame_without_mass_below_a_moving_joint_is_merged_into_its_child():
    parts = [frame("w"), frame("a"), frame("b"), link("c", (0, 0, 1)), link("d"), frame("e")]
    parts += [joint("turn", "continuous", "w", "a", axis=(0, 0, 1)), joint("ab", "fixed", "a", "b", (1, 0, 0))]
    parts += [joint("bc", "fixed", "b", "c", (0, 1, 0)), joint("ad", "fixed", "a", "d"), joint("we", "fixed", "w", "e")]
    parts += [link("f"), joint("ef", "prismatic", "e", "f", (5, 0, 0))]
    system = load(robot(*parts), positions={"turn": TURN})
    assert {j.name: j.bodies for j in system.joints} == {
        "turn": ("ground", "c"),
        "ad": ("c", "d"),
        "ef": ("ground", "f"),
    }
    close(system.body("c").position, [-1, 1, 1])
    close(system.joint("turn").at, [0, 0, 0])
    system.check_consistent()


def test_zero_mass_and_inertia_are_no_inertial():
    parts = [link("a"), link("b", mass=0.0, inertia=(0.0, 0.0, 0.0)), joint("ab", "fixed", "a", "b")]
    assert load(robot(*parts)).names == ("a",)


def test_inertia_of_turned_links():
    inertia, products = (0.3, 0.4, 0.5), (0.01, -0.02, 0.03)
    rpy, turn = (0.3, -0.5, 1.1), (0.4, 0.6, -0.9)
    parts = [frame("w"), link("a", (0.1, 0.2, 0.3), rpy, 1.0, inertia, products)]
    system = load(robot(*parts, joint("j", "fixed", "w", "a", (1, 2, 3), turn)))
    (body,) = system.bodies
    J = np.array([[0.3, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.5]])
    close(body.inertia, J)
    R = Rotation.from_euler("xyz", turn)  # about fixed axes, as URDF has it
    A = (R * Rotation.from_euler("xyz", rpy)).as_matrix()
    close(body.matrix @ body.inertia @ body.matrix.T, A @ J @ A.T)
    close(body.position, np.add((1, 2, 3), R.apply((0.1, 0.2, 0.3))))


# --- what is changed or left out -------------------------------------------------------------------------------------


def test_nothing_is_left_out_without_a_note():
    loose = joint("k", "planar", "a", "b", axis=(0, 0, 1), more='<dynamics damping="1"/>')
    turn = '<limit lower="-4" upper="2" effort="9"/><mimic joint="k" multiplier="-2"/>'
    turn += '<dynamics damping="0.3" friction="0.1"/>'
    parts = [W, A, link("b"), frame("tip"), joint("j", "revolute", "w", "a", axis=(0, 0, 1), more=turn), loose]
    parts += [joint("end", "fixed", "b", "tip"), link("c"), joint("free", "floating", "b", "c"), "<transmission/>"]
    text = robot(*parts).replace('<link name="b">', '<link name="b"><collision/><visual><geometry/></visual>')
    system = load(text, positions={"j": 0.5})
    assert (system.joint("j").damping, system.joint("j").friction) == (0.3, 0.1)
    assert system.joint("j").limits == (None, 1.5)
    expected = [
        "joint 'j': <mimic joint='k'> is left out and the joint is free; it should be at -2 * q + 0 of that one",
        "joint 'k': dynamics damping = 1 of a planar joint is left out.",
        "limits of effort and velocity are left out ('j')",
        "<collision> is left out ('b')",
        "<transmission> is left out.",
        "part of ground: 'w'.",
        "part of body 'b': 'tip'.",
        "joint 'free' is floating: body 'c' is free",
        "joint 'j': limits count from its start at 0.5 rad: (None, 1.5).",
        "joint 'j': limit -4 lies half a turn or more",
    ]
    assert len(system.notes) == len(expected)
    for words, note in zip(expected, system.notes, strict=True):
        assert words in note
        assert note.endswith(".")
    assert system.with_({"a.mass": 2.0}).notes == pickle.loads(pickle.dumps(system)).notes == system.notes


def test_nothing_to_note():
    assert load(robot(link("a"), link("b"), joint("j", "continuous", "a", "b", axis=(0, 0, 1)))).notes == ()


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def drawn(file, scale="1 1 1"):
    mesh = f'<mesh filename="{file}" scale="{scale}"/>'
    shape = f'<visual><origin xyz="0 0 2"/><geometry>{mesh}</geometry></visual>'
    return robot(link("a", (0, 0, 1)).replace("</link>", f"{shape}</link>"))


def test_meshes_are_read(tmp_path):
    folder = tmp_path / "my_robot" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "my_robot" / "arm.obj").write_text(TETRAHEDRON)
    path = folder / "arm.urdf"
    for file in ("package://my_robot/arm.obj", "../arm.obj", f"file://{tmp_path}/my_robot/arm.obj"):
        path.write_text(drawn(file, "2 2 -2"))
        system = load(path)
        (body,) = system.bodies
        assert system.notes == ()
        close(body.shape.vertices.max(axis=0), [2, 2, 0])
        close(body.shape.offset, [0, 0, 1])
        close(body.shape.moments()[0], 8 / 6)  # turned right side out
    text = drawn("package://other/arm.obj")
    assert load(text, packages={"other": tmp_path / "my_robot"}).body("a").shape is not None


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("arm.dae", "its ending must be .stl, .ply or .obj, got '.dae'"),
        ("none.stl", "it cannot be read"),
        ("package://lost/arm.stl", "package 'lost' is not found; name its folder in packages = {'lost': ...}"),
        ("http://x/arm.stl", "http:// is not a place on this computer"),
    ],
)
def test_meshes_that_are_not_drawn_are_noted(file, words, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(drawn(file))
    system = load(path)
    (note,) = system.notes
    assert note.startswith("link 'a': mesh")
    assert words in note
    assert system.body("a").shape is None


# --- random trees ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(["fixed", "free"]))
def test_random_trees_against_homogeneous_transforms(seed, n, base):
    rng = np.random.default_rng(seed)
    names = [f"l{i}" for i in range(n)]
    coms, turns = rng.normal(size=(n, 3)), rng.uniform(-3, 3, (n, 3))
    massless = [i > 0 and rng.random() < 0.2 for i in range(n)]
    parts = [frame(m) if massless[i] else link(m, coms[i], turns[i]) for i, m in enumerate(names)]
    # 4x4 matrices by SciPy
    T = [np.eye(4)]
    positions = {}
    edges = []
    for i in range(1, n):
        parent = int(rng.integers(0, i))
        kind = "fixed" if massless[i] else str(rng.choice(["revolute", "continuous", "prismatic", "fixed", "floating"]))
        xyz, rpy, axis = rng.normal(size=3), rng.uniform(-3, 3, 3), rng.normal(size=3)
        H, M = np.eye(4), np.eye(4)
        H[:3, :3], H[:3, 3] = Rotation.from_euler("xyz", rpy).as_matrix(), xyz
        if kind in ("revolute", "continuous", "prismatic"):
            q = positions[f"j{i}"] = float(rng.uniform(-2, 2))
            step = q * axis / np.linalg.norm(axis)
            if kind == "prismatic":
                M[:3, 3] = step
            else:
                M[:3, :3] = Rotation.from_rotvec(step).as_matrix()
        T.append(T[parent] @ H @ M)
        edges.append((f"j{i}", kind, names[parent], names[i], xyz, rpy, axis))
    order = rng.permutation(len(edges))
    system = load(robot(*parts, *(joint(*edges[k]) for k in order)), base=base, positions=positions)
    assert system.names == tuple(m for i, m in enumerate(names) if not massless[i])
    for i, name in enumerate(names):
        if massless[i]:
            continue
        body = system.body(name)
        close(body.position, (T[i] @ [*coms[i], 1])[:3], 1e-12)
        close(body.matrix, T[i][:3, :3] @ Rotation.from_euler("xyz", turns[i]).as_matrix(), 1e-12)
    for edge, kind, _, child, *_, axis in edges:
        if kind in ("revolute", "continuous"):
            made, i = system.joint(edge), names.index(child)
            close(made.axis, T[i][:3, :3] @ axis / np.linalg.norm(axis), 1e-12)
            close(made.at, T[i][:3, 3], 1e-12)
    system.check_consistent()
    assert max((gap for gap, _ in system.residuals().values()), default=0.0) < 1e-12


# --- what is refused -------------------------------------------------------------------------------------------------

W = frame("w")
A = link("a")
TO_A = joint("j", "continuous", "w", "a", axis=(0, 0, 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot>", "it is not well-formed XML (no element found: line 1, column 7)"),
        ("<sdf/>", "its root element is <sdf>; a URDF has <robot>"),
        ("<robot/>", "it has no <link>"),
        ('<!DOCTYPE robot [<!ENTITY a "b">]><robot>&a;</robot>', "it declares a document type (DOCTYPE)"),
        ('<!DOCTYPE robot SYSTEM "file:///etc/hosts"><robot/>', "it declares a document type (DOCTYPE)"),
        ("<robot>&a;</robot>", "it is not well-formed XML (undefined entity"),
        ('<robot xmlns:xacro="http://x/xacro"><xacro:arm/></robot>', "<arm> is a macro of xacro; expand the file"),
        (robot(W), "no link has an <inertial>"),
        (robot(W, A, "<link/>", TO_A), "link[2]: name is missing"),
        (robot(W, A, frame("a"), TO_A), "link 'a': name = 'a' is used by several links"),
        (robot(W, A, TO_A, TO_A), "joint 'j': name = 'j' is used by several joints"),
        (robot(W, A, joint("a", "fixed", "w", "a")), "joint 'a': name = 'a' is that of a link too"),
        (robot(W, A, joint("j/k", "fixed", "w", "a")), "joint 'j/k': name = 'j/k' is not a name"),
        (robot(W, link("a/b"), joint("j", "fixed", "w", "a/b")), "link 'a/b': name = 'a/b' is not a name"),
        (robot(W, A, joint("j", "ball", "w", "a")), "joint 'j': type = 'ball' is unknown; it can be 'revolute'"),
        (robot(W, A, joint("j", "fixd", "w", "a")), "Did you mean 'fixed'?"),
        (robot(W, A, joint("j", "fixed", "w", "aa")), "child link = 'aa' is unknown; it can be 'w', 'a'. Did you mean"),
        (robot(W, A, joint("j", "fixed", "v", "a")), "parent link = 'v' is unknown"),
        (robot(W, A, '<joint name="j" type="fixed"><parent link="w"/></joint>'), "<child link=...> is missing"),
        (robot(W, A, joint("j", "continuous", "w", "a", axis=(0, 0, 0))), "joint 'j': axis xyz = (0, 0, 0) has the"),
        (robot(W, A, TO_A.replace("0.0 0.0 1.0", "0 0")), "axis xyz = '0 0' must be three numbers"),
        (robot(W, A, TO_A.replace("0.0 0.0 1.0", "0 0 nan")), "axis xyz[2] = nan is not finite"),
        (
            robot(W, A, joint("j", "continuous", "w", "a", more='<dynamics friction="-1"/>')),
            "friction = -1 must not be",
        ),
        (robot(W, A, joint("j", "continuous", "w", "a", more='<dynamics damping="-1"/>')), "must not be negative"),
        (
            robot(W, A, joint("j", "revolute", "w", "a", more='<limit lower="1" upper="0"/>')),
            "limit lower = 1 must lie",
        ),
        (
            robot(W, A, joint("j", "revolute", "w", "a", more='<limit lower="x" upper="2"/>')),
            "limit lower = 'x' must be a",
        ),
        (robot(W, A), "it has several root links, 'w', 'a'; connect them by joints"),
        (robot(W, A, TO_A, joint("k", "fixed", "w", "a")), "joint 'k': child link = 'a' is that of joint 'j' too"),
        (
            robot(W, A, link("b"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
            "its joints form a loop, ",
        ),
        (robot(A, joint("j", "fixed", "a", "a")), "its joints form a loop, 'a' - 'a'"),
        (robot(A, frame("b"), joint("j", "continuous", "a", "b")), "link 'b': it has no <inertial> (mass and inertia)"),
        (robot(link("a", mass=-1.0)), "link 'a': mass must be a positive finite number, got -1.0"),
        (robot(link("a", inertia=(1.0, 1.0, 3.0))), "link 'a': inertia ="),
        (robot(link("a", mass=0.0)), "link 'a': mass must be a positive"),
        (robot(A.replace('value="1.0"', "")), "link 'a': <mass value=...> is missing"),
        (robot(A.replace("ixx", "jxx")), "link 'a': <inertia ixx=...> is missing"),
        (robot(A.replace('rpy="0.0 0.0 0.0"', 'rpy="0 0"')), "link 'a': origin rpy = '0 0' must be three numbers"),
        (robot(link("ground")), "link 'ground': name = 'ground' is not a name"),
    ],
)
def test_refused(text, words):
    (sentence,) = problems(text)
    assert sentence.startswith("URDF text")
    assert words in sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"base": "fix"}, "base = 'fix' is unknown; it can be 'fixed', 'free'"),
        ({"gravity": 9.81}, "gravity must be three numbers"),
        ({"positions": {"jj": 1}}, "positions: joint = 'jj' is unknown; it can be 'j'. Did you mean 'j'?"),
        ({"positions": {"f": 1}}, "positions['f']: a fixed joint has not one coordinate"),
        ({"positions": {"j": "x"}}, "positions['j'] must be a number, got 'x'"),
        ({"positions": {"j": 3}}, "positions['j'] = 3 lies outside the limits (-1.0, 1.0)"),
        ({"positions": 3}, "positions must be a dict"),
        ({"packages": 3}, "packages must be a dict from names to folders, got 3"),
        ({"positions": {3: 1}}, "positions: joint = 3 is unknown"),
    ],
)
def test_arguments_refused(arguments, words):
    turn = joint("j", "revolute", "w", "a", axis=(0, 0, 1), more='<limit lower="-1" upper="1"/>')
    (sentence,) = problems(robot(W, A, link("b"), turn, joint("f", "fixed", "w", "b")), **arguments)
    assert words in sentence


def test_a_free_base_needs_mass():
    (sentence,) = problems(robot(W, A, TO_A), base="free")
    assert "link 'w': it has no <inertial>" in sentence
    assert "base='fixed'" in sentence


def test_all_problems_at_once_name_the_file(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(
        robot(
            W,
            link("a", mass=-1.0, inertia=(1.0, 1.0, 9.0)),
            frame("b"),
            joint("j", "ball", "w", "a", more='<dynamics friction="-1"/>'),
            joint("k", "continuous", "a", "b", axis=(0, 0, 0)),
        )
    )
    found = problems(path, base="loose", gravity=(0, 1), positions={"z": 1})
    expected = ["base", "mass", "inertia", "type", "friction", "axis", "no <inertial>", "gravity", "positions"]
    assert len(found) == len(expected)
    for words in expected:
        assert sum(words in sentence for sentence in found) >= 1, words
    assert all(sentence.startswith(str(path)) for sentence in found)


def test_what_the_system_refuses_names_the_file():
    (sentence,) = problems(robot(W, link("a", inertia=(0.0, 0.0, 0.0)), joint("j", "floating", "w", "a")))
    assert sentence.startswith("URDF text: Body 'a': inertia about the centre of mass is singular")


@pytest.mark.parametrize("source", [3, None, "", b"<robot/>", "no/such.urdf", "\0", "x" * 5000])
def test_no_source(source):
    (sentence,) = problems(source, read=load_urdf)
    assert "path" in sentence
    assert len(sentence) < 600


def test_a_folder_is_no_file(tmp_path):
    assert "cannot be read" in problems(tmp_path, read=load_urdf)[0]


def test_large_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FILE", 1_000_000)
    path = tmp_path / "large.urdf"
    path.write_text(robot(W, A, TO_A) + " " * 1_000_000)
    assert "larger than 1 MB" in problems(path)[0]
    assert "larger than 1 MB" in problems(path.read_text())[0]


def test_a_document_type_is_found_in_any_encoding(tmp_path):
    path = tmp_path / "hidden.urdf"
    bomb = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot/>'
    path.write_bytes(bomb.encode("utf-16"))
    assert "DOCTYPE" in problems(path)[0]


@given(st.data())
def test_damaged_files_give_a_model_error_and_nothing_else(data):
    text = robot(*ARM)
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(text)))
        j = data.draw(st.integers(i, min(len(text), i + 12)))
        text = text[:i] + data.draw(st.text(alphabet='<>"/= 01e9.-naz&', max_size=4)) + text[j:]
    with contextlib.suppress(ModelError):
        load("<" + text.lstrip("<"))


def test_deep_and_wide_trees_are_read_without_recursion():
    n = 1100  # more than Python calls within each other
    chain = [link(f"l{i}", (0.5, 0, 0)) for i in range(n)]
    chain += [joint(f"j{i}", "continuous", f"l{i}", f"l{i + 1}", (1, 0, 0), axis=(0, 0, 1)) for i in range(n - 1)]
    system = load(robot(*chain))
    close(system.body(f"l{n - 1}").position, [n - 0.5, 0, 0], 1e-9)
