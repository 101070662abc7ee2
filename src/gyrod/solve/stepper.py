"""stepper: a simulation that its user drives step by step, for controllers, games and loops of one's own."""

from __future__ import annotations

import hashlib
import json
import math
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast

import numpy as np

from gyrod import _check, storage
from gyrod._check import Array
from gyrod.equations import Compiled, ForceError, compile_system
from gyrod.model import JointSensor, System
from gyrod.model.inputs import Input, Live, Recorded, Settings, bind, check_values, find_inputs, leading
from gyrod.motion import Beside, Energy, EventRecord, Motion, MotionStats, Rest, SimulationError
from gyrod.motion.between import passes_over
from gyrod.motion.sensors import Sensors
from gyrod.runs.formulations import Formulation
from gyrod.runs.methods import CONSTANT, METHODS, STEPPED, automatic, rigid
from gyrod.runs.options import Driving, documented, read, refuse_foreign, whole
from gyrod.solve.choose import choose_method
from gyrod.solve.limits import find_limits
from gyrod.solve.methods import handed, run_options
from gyrod.solve.options import check_index, check_step, core_options, stepping
from gyrod.solve.outcome import fail_at_start, motion_of
from gyrod.solve.starts import begin, from_rest
from gyrod.solve.variational import Driven, compiled_for

if TYPE_CHECKING:
    from gyrod import _core
    from gyrod.solve.methods import StepValues

#: Begin of a snapshot.
MAGIC = b"gyrod stepper 2\n"
_COUNTERS = ("steps", "rejected", "rhs", "jacobians", "factorizations", "solves", "newton")


F = TypeVar("F", bound=Callable[..., object])


class Led(TypedDict):
    """An input that leads, over the steps."""

    times: Array
    values: Array
    rates: Array


def _alone(method: F) -> F:
    """A method during which the stepper refuses other threads: they would lose steps, or worse."""

    @wraps(method)
    def inside(self: Stepper, *args: object, **kwargs: object) -> object:
        core = self._compiled.core
        core.enter()
        try:
            return method(self, *args, **kwargs)
        finally:
            core.leave()

    return inside  # type: ignore[return-value]


class Stepper:
    """A simulation that stands at a time and goes on by request: ``sim.step(0.01)``; made by `stepper`.

    ``sim["bob"].position``, ``sim.sensors["imu"]``, ``sim.energy.total`` are those of now. A step that fails raises a
    `SimulationError`, and the simulation stays where it was.
    """

    _t: float
    _y: Array
    #: Length of the next step of the method.
    _h: float
    #: The core's run, which goes on; None: the next step begins a new one.
    _session: _core.Session | Driven | None
    _state: Motion | None
    #: Counters of the session, and of those before it.
    _counts: dict[str, int]
    _base: dict[str, int]
    _rejected: int
    #: Length of the last step, where steps of that length began, and how many there were.
    _pace: tuple[float, float, int]
    #: Limits that driven joints have passed.
    _passed: list[EventRecord]
    #: Coordinates of joints that turn, and what is added to them for turns.
    _angles: dict[int, Array]
    _turns: dict[int, Array]

    def __init__(
        self, given: System, compiled: Compiled, live: Settings, inputs: Mapping[str, Input], method: str,
        steps: StepValues, projection: str, record: bool, threads: int, driven: Driven | None = None,
    ) -> None:  # fmt: skip
        self._given, self._compiled, self._live, self._known = given, compiled, live, dict(inputs)
        self._method, self._steps, self._record, self._driven = method, steps, record, driven
        limits = find_limits(compiled, rods=driven is None)
        if driven is not None:
            driven.watched = limits.events()
        self._projected = projection == "step"
        self._names = list(limits.names)
        knots = bool(self._names) and passes_over(method, compiled)
        self._options = run_options(
            project=self._projected, dense=False, limits=limits.core, knots=knots, threads=threads
        )
        self._python = compiled.python
        self._first = live.now()
        self._turning = _turning(compiled)
        self.reset()

    # --- going on ---

    @_alone
    def step(self, h: float, **inputs: object) -> Stepper:
        """Go on by exactly h seconds, with inputs that hold during them (and until they are set again)."""
        length = _check.positive("h", h)
        if length != self._pace[0]:
            self._pace = (length, self._t, 0)
        # Multiples, not sums: ten steps of 0.1 s end at 1 s.
        _, begin, count = self._pace
        t_end = begin + (count + 1) * length
        if t_end <= self._t:
            raise ValueError(f"h = {length:g} is below the rounding of the time, t = {self._t:g}.")
        if inputs:
            self.set(**inputs)
        self._to(t_end)
        self._pace = (length, begin, count + 1)
        return self

    def _to(self, t_end: float) -> None:
        started = time.process_time() if self._record else 0.0
        run = self._advance(t_end)
        if run.status != "finished":
            if self._driven is None:
                self._session = None  # the next step begins from what is kept here
            self._fail(run, started)
        before, self._t, self._y, self._state = self._t, t_end, run.y_stop, None
        self._h = max(self._h, run.h_stop) if run.stats["rejected"] == self._rejected else run.h_stop
        self._rejected, self._counts = run.stats["rejected"], run.stats
        # After a step back, what lay ahead of it has not happened.
        self._passed = [event for event in self._passed if event.t <= before]
        self._passed += self._crossings(run)
        if self._turning:
            self._count_turns()
        if self._record:
            self._keep(before, run)

    def _advance(self, t_end: float) -> _core.Run:
        """The core's run to a time: that of the session, or of a new one from here."""
        self._live.aim(self._t, t_end)
        signals = self._compiled.signals
        # What they say may have changed since the last step.
        for signal in (*signals.functions, *signals.led_by_inputs):
            signal.forget()
        if self._session is not None:
            return self._session.go_on(t_end)
        if self._driven is not None:
            self._driven.reset()
            self._session = self._driven
            run: _core.Run = self._driven.go_on(t_end)
            return run
        self._base = self._totals()
        self._counts, self._rejected = dict.fromkeys(_COUNTERS, 0), 0
        steps = self._steps | {"first_step": self._h or self._steps["first_step"]}
        given = handed(steps, self._options)
        self._session = self._compiled.core.start(self._method, self._t, self._y, t_end, *given, self._python)
        return self._session.advance(2**62, math.inf)

    def _crossings(self, run: _core.Run) -> tuple[EventRecord, ...]:
        """Limits that were passed in a step, with the inputs as they were and forces between accepted states."""
        if not run.crossings:
            return ()
        compiled = self._compiled
        if self._known:
            now = {name: np.array([value]) for name, value in self._live.now().items()}
            compiled = self._with_inputs(np.zeros(1), now)
        rows = (run.knots_t, run.knots_y) if len(run.knots_t) > 1 else None
        at = Motion(np.asarray(run.t_stop), run.y_stop, self.stats, _compiled=compiled, _accepted=rows)
        return at._recorded([(int(e), t, np.asarray(y), self._names[int(e)]) for e, t, y in run.crossings])

    def _with_inputs(self, times: Array, values: dict[str, Array], led: Mapping[str, Led] | None = None) -> Compiled:
        def made(source: Input, leads: bool) -> Input | Recorded:
            if not leads:
                return Recorded.of(source, times, values[source.name])
            # Where it leads: as it was at the ends of the steps, or along the cubic of the step in hand.
            if led is None:
                return Live(source, self._live, True).now
            return Recorded(source.name, along=source.along, **led[source.name])

        held = bind(self._given, made)
        return compile_system(held, self._compiled.formulation, started=True, **self._compiled.options)

    def _fail(self, run: _core.Run, started: float) -> None:
        if run.status == "event":
            last = self._crossings(run)[-1]
            raise SimulationError(
                f"the {last.name} is reached at t = {last.t:.10g}; the simulation stays at t = {self.t:.10g}, .motion "
                "is there.", last.t, last.state.y, replace(last.state, status="event"),
            )  # fmt: skip
        if self._driven is not None:
            self._driven.fail(run)
        motion_of(run, self._compiled, self._method, started, False, self._projected, self._names)

    @_alone
    def set(self, name: str | None = None, value: object = None, /, **values: object) -> None:
        """Set inputs, ``sim.set("motor", 0.3)`` or ``sim.set(motor=0.3)``; they hold until they are set again."""
        if name is not None and not isinstance(name, str):
            raise ValueError(f"name = {_check.shown(name)} must be the name of an input.")
        given = values if name is None else {name: value, **values}
        self._live.update(check_values(self._known, given))
        self._state = None

    @property
    def inputs(self) -> dict[str, float | Array]:
        """Values of the inputs now."""
        return self._live.now()

    @_alone
    def reset(self) -> None:
        """Go back to the start: time, state, inputs, and what was recorded."""
        self._t, self._y, self._h = 0.0, np.array(self._compiled.y0), 0.0
        self._session, self._state, self._rejected = None, None, 0
        self._pace = (0.0, 0.0, 0)
        self._passed = []
        self._counts, self._base = dict.fromkeys(_COUNTERS, 0), dict.fromkeys(_COUNTERS, 0)
        self._live.update(self._first)
        self._live.stand()
        for signal in self._compiled.signals.led_by_inputs:
            signal.forget()
        self._angles, self._turns = {}, {}
        if self._turning:
            self._count_turns()
        self._forget()

    # --- now ---

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """Limits that joints which are led have passed up to now; those of other joints end a step with an error."""
        return tuple(event for event in self._passed if event.t <= self._t)

    @property
    def t(self) -> float:
        """Time."""
        return self._t

    @property
    def y(self) -> Array:
        """Unknowns of the formulation, (N,)."""
        return np.array(self._y)

    @property
    def system(self) -> System:
        """What is simulated."""
        return self._given

    @property
    def state(self) -> Motion:
        """The motion at this time, without time axis."""
        if self._state is None:
            self._state = Motion(np.asarray(self._t), self._y, self.stats, _compiled=self._compiled)
            self._state.__dict__["sensors"] = Sensors(self._state, self._turns)
        return self._state

    def __getitem__(self, name: str) -> Any:
        """A body, a rod or a joint by its name, at this time."""
        return self.state[name]

    @property
    def sensors(self) -> Sensors:
        """What the sensors read now; angles of joints are counted over turns, from step to step."""
        return self.state.sensors

    @property
    def energy(self) -> Energy:
        """Energies now."""
        return self.state.energy

    @property
    def stats(self) -> MotionStats:
        """What it has cost since the start."""
        return MotionStats(self._method, self._compiled.formulation, **self._totals())

    def _totals(self) -> dict[str, int]:
        return {key: self._base.get(key, 0) + self._counts.get(key, 0) for key in _COUNTERS}

    def _count_turns(self) -> None:
        for number in self._turning:
            q = self.state.sensors.rows.joint(number)[0][0]
            before = self._angles.get(number, q)
            angle = [name.startswith("angle") for name in self._compiled.system.joints[number].coordinate_names]
            jumps = np.where(angle, np.round((before - q) / (2.0 * np.pi)), 0.0)
            self._turns[number] = self._turns.get(number, np.zeros(len(q))) + 2.0 * np.pi * jumps
            self._angles[number] = q

    # --- what was recorded ---

    def _forget(self) -> None:
        self._rows: list[tuple[Array, Array]] = [(np.array([self._t]), self._y[None].copy())]
        #: Begin and inputs of each step.
        self._log: list[tuple[float, dict[str, float | Array]]] = []
        self._ends: list[float] = [self._t]
        #: Values and rates of inputs that lead, at these times.
        self._led = {name: [self._live.at(name, self._t)] for name in self._live.curves}

    def _keep(self, before: float, run: _core.Run) -> None:
        t, y = run.t, run.y
        new = t > before
        self._rows.append((t[new], y[new]))
        self._log.append((before, self._live.now()))
        self._ends.append(self._t)
        for name, rows in self._led.items():
            rows.append(self._live.at(name, self._t))

    @_alone
    def motion(self) -> Motion:
        """The motion up to now, at the ends of the steps, with dense output between; needs ``record=True``."""
        if not self._record:
            raise ValueError("this stepper keeps no motion; make it with record=True.")
        t, y = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
        compiled = self._compiled
        if self._known:
            times, now = np.array([at for at, _ in self._log] or [self._ends[0]]), self._live.now()
            values = {name: np.array([v[name] for _, v in self._log] or [now[name]]) for name in self._known}
            compiled = self._with_inputs(times, values, self._recorded_leads())
        ends = np.array(self._ends)
        dense = storage.Between(storage.Kept(t, y), compiled) if len(t) > 1 else None
        rows = y[np.searchsorted(t, ends)]
        beside = Beside(rtol=None if self._steps["step"] else self._steps["rtol"])
        motion = Motion(ends, rows, self.stats, "finished", t, _compiled=compiled, _dense=dense, _beside=beside)
        found = [(event.event, event.t, event.state.y, event.name) for event in self.events]
        object.__setattr__(motion, "events", motion._recorded(found))
        return motion

    def _recorded_leads(self) -> dict[str, Led]:
        """Times, values and rates of the inputs that lead."""
        found: dict[str, Led] = {}
        for name, rows in self._led.items():
            shape, times = np.shape(self._known[name].value), np.array(self._ends)
            values, rates = (np.array(part).reshape(-1, *shape) for part in zip(*rows, strict=True))
            if len(times) == 1:  # nothing has moved yet
                times, values, rates = (
                    np.append(times, times[0] + 1.0),
                    np.tile(values, (2,) + (1,) * len(shape)),
                    np.zeros((2, *shape)),
                )
            found[name] = {"times": times, "values": values, "rates": rates}
        return found

    # --- snapshots ---

    @_alone
    def save(self) -> bytes:
        """The state as bytes, to which `restore` goes back, to the last bit of what follows."""
        parts = {
            "key": self._key, "t": self._t.hex(), "h": self._h.hex(), "n": len(self._y), "rejected": self._rejected,
            "inputs": {name: [float(x).hex() for x in np.ravel(value)] for name, value in self._live.now().items()},
            "span": [x.hex() for x in self._live.span],
            "curves": {name: [x.hex() for x in curve.tolist()] for name, curve in self._live.curves.items()},
            "turns": {str(k): [q.tolist(), self._turns[k].tolist()] for k, q in self._angles.items()},
            "counts": self._counts, "base": self._base, "pace": [x.hex() for x in map(float, self._pace)],
        }  # fmt: skip
        session: bytes = b"" if self._session is None else self._session.save()
        body = json.dumps(parts).encode() + b"\n" + self._y.tobytes() + session
        return MAGIC + zlib.crc32(body).to_bytes(4, "little") + body

    @_alone
    def restore(self, snapshot: bytes) -> None:
        """Go back (or on) to what `save` has returned, of this stepper or of one that was made in the same way."""
        parts, y, session = self._read(snapshot)
        inputs = {name: [float.fromhex(x) for x in value] for name, value in parts["inputs"].items()}
        given = {k: v if np.shape(self._known[k].value) else v[0] for k, v in inputs.items()}
        self._live.update(check_values(self._known, given))
        self._live.span = (float.fromhex(parts["span"][0]), float.fromhex(parts["span"][1]))
        for name, curve in parts["curves"].items():
            self._live.curves[name][:] = [float.fromhex(x) for x in curve]
        for signal in self._compiled.signals.led_by_inputs:
            signal.forget()
        self._t, self._y, self._h = float.fromhex(parts["t"]), y, float.fromhex(parts["h"])
        self._rejected, self._counts, self._base = parts["rejected"], parts["counts"], parts["base"]
        length, begin, count = (float.fromhex(x) for x in parts["pace"])
        self._pace = (length, begin, int(count))
        self._angles = {int(k): np.array(q) for k, (q, _) in parts["turns"].items()}
        self._turns = {int(k): np.array(turns) for k, (_, turns) in parts["turns"].items()}
        self._state, self._session = None, None
        if session and self._driven is not None:
            self._session = self._driven
            self._driven.load(session, y)
        elif session:
            core, end = self._compiled.core, self._t + (self._h or 1.0)
            options = handed(self._steps, self._options)
            self._session = core.start(self._method, self._t, y, end, *options, self._python)
            self._session.load(session)
        if self._t in self._ends:
            self._rewind(self._ends.index(self._t))
        else:
            self._forget()

    def _rewind(self, count: int) -> None:
        """Forget what was recorded after so many steps."""
        self._ends, self._log, self._rows = self._ends[: count + 1], self._log[:count], self._rows[: count + 1]
        self._led = {name: rows[: count + 1] for name, rows in self._led.items()}

    def _read(self, snapshot: bytes) -> tuple[dict[str, Any], Array, bytes]:
        sound = isinstance(snapshot, bytes | bytearray) and snapshot.startswith(MAGIC)
        body = bytes(snapshot[len(MAGIC) + 4 :]) if sound else b""
        if not sound or zlib.crc32(body) != int.from_bytes(snapshot[len(MAGIC) : len(MAGIC) + 4], "little"):
            raise ValueError(
                "snapshot must be the bytes that Stepper.save has returned; this is something else, or it is damaged."
            )
        head, _, rest = body.partition(b"\n")
        parts = json.loads(head)
        if parts["key"] != self._key:
            raise ValueError(
                "this snapshot is of another system, formulation, method or tolerance; restore it in a stepper that "
                "was made as the one that saved it."
            )
        size = 8 * parts["n"]
        return parts, np.frombuffer(rest[:size]).copy(), rest[size:]

    @property
    def _key(self) -> str:
        """What snapshots must agree in."""
        c = self._compiled
        text = repr((c.formulation, c.kinds, sorted(c.options), self._method, c.y0.tolist(), list(self._known)))
        text += repr([(k, np.asarray(v).ravel().tolist()) for k, v in sorted(self._steps.items()) if v is not None])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Stepper(t = {self._t:g} s, {self._method}, {self._compiled.formulation})"


@documented(Driving)
def stepper(system: System | Rest, **options: Unpack[Driving]) -> Stepper:
    """A simulation that goes on step by step, as its user asks.

    Parameters
    ----------
    system
        A `System`, from its initial configuration, or a `Rest`, from there.
    OPTIONS

    The method is one of the core's, or one with constant steps, of which ``sim.step`` makes a whole number.

    >>> import gyrod as gd
    >>> ball = gd.Body("ball", mass=2.0, inertia=(1, 1, 1))
    >>> push = gd.Force("ball", gd.Input("push", along=(1, 0, 0)))
    >>> sim = gd.stepper(gd.System([ball], forces=[push], gravity=(0, 0, 0)))
    >>> for _ in range(10):
    ...     _ = sim.step(0.1, push=2.0 - 2.0 * sim["ball"].velocity[0])  # towards 1 m/s
    >>> round(float(sim["ball"].velocity[0]), 3), round(sim.t, 9)
    (0.651, 1.0)
    """
    asked = read("stepper", options, Driving)
    run = whole(asked)
    allowed = ("auto", *METHODS, *CONSTANT)
    method, form = _check.choice("method", run["method"], allowed), Formulation.of(run["formulation"])
    refuse_foreign(asked, method)
    check_index(form, method)
    first, given = from_rest(system) if isinstance(system, Rest) else (None, system)
    if not isinstance(given, System):
        raise ValueError(f"system must be a gyrod.System, got {type(given).__name__}.")
    known = find_inputs(given)
    live = Settings({name: source.value for name, source in known.items()}, leading(given))
    live.update(check_values(known, asked.get("inputs") or {}))
    live.stand()
    bound = bind(given, lambda source, leads: Live(source, live, leads))
    record = asked.get("record", False)
    if method in STEPPED:
        stepped = compiled_for(bound, first, run)
        assert run["step"] is not None
        how = {k: v for k, v in asked.items() if k in ("step", "coordinates", "sigma", "potential", "order")}
        driven = Driven(stepped, method, run["step"], ())
        steps = cast("StepValues", how)  # which the driven steps know themselves: these distinguish snapshots
        return Stepper(given, stepped.compiled, live, known, method, steps, "step", record, 1, driven)
    check_step(method, run["step"])
    plain = not form.parts.keys() - {"projection"} and not rigid(method)
    compiled = begin(bound, first, form.name, **({} if plain else core_options(form, method)))
    steps = stepping(compiled, run)
    try:
        chosen = choose_method(method, compiled, run["rtol"], 1.0)
        if method == "auto" and not compiled.rods and not METHODS[chosen].stiff:
            chosen = automatic(stiff=False, tight=False)  # high orders do not pay in short steps
    except ForceError as error:
        fail_at_start(error, compiled, method)
    return Stepper(given, compiled, live, known, chosen, steps, form.projection, record, run["threads"])


def _turning(compiled: Compiled) -> list[int]:
    """Joints whose angles sensors read, and which must be counted over turns."""
    system = compiled.system
    read = {s.joint for s in system.sensors if isinstance(s, JointSensor) and s.quantity == "coordinate"}
    return [i for i, joint in enumerate(system.joints) if joint.name in read and joint.wraps]
