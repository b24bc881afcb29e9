"""Reading SASS, the machine code of NVIDIA GPUs, from the text of `cuobjdump -sass` or `nvdisasm`:
no GPU is needed.

A time loop runs at the speed of memory only if many of its loads are under way before anything
waits for one, and the compiler decides that: it moves no load over a store it cannot tell apart. So
tests compile a kernel and read what came out.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LOADS = ("LDG", "LDGSTS")
STORES = ("STG", "RED", "ATOMG")
LOCAL = ("LDL", "STL")

_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P[T\d]+)\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
_LABEL = re.compile(r"^\s*\.(L_[\w.]+):")
_FUNCTION = re.compile(r"^\s*(?:Function : |\.section\s+\.text\.)([\w$.]+)")
_TARGET = re.compile(r"(?:^|[\s,])(?:0x([0-9a-f]+)|`\(\.(L_[\w.]+)\))\s*$")
_USAGE = re.compile(r"Function\s+([\w$.]+):\s+REG:(\d+)\s+STACK:(\d+)\s+SHARED:(\d+)\s+LOCAL:(\d+)")


@dataclass(frozen=True)
class Instruction:
    address: int
    predicate: str | None
    """The predicate, `P0`, `!P0`, …, that decides whether it runs; None: it always runs."""
    opcode: str
    """Without modifiers: `LDG`."""
    modifiers: tuple[str, ...]
    """`("E", "128")`."""
    operands: str
    target: int | None = None
    """The address that a branch names."""

    @property
    def registers(self) -> tuple[int, ...]:
        """General registers that its operands name, the written one first; of a vector only the
        first."""
        return tuple(int(number) for number in re.findall(r"\bR(\d+)\b", self.operands))

    @property
    def width(self) -> int:
        """Bits that a load or store moves in one thread."""
        sizes = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}
        return next((sizes[m] for m in self.modifiers if m in sizes), 32)


@dataclass(frozen=True)
class Usage:
    """The resources of one function, from `cuobjdump -res-usage`: registers for each thread, and
    bytes."""

    registers: int
    stack: int
    shared: int
    local: int


def functions(text: str) -> dict[str, list[Instruction]]:
    """The instructions of every function in the text, by name; lines before any function's name
    belong to ''."""
    listings: dict[str, list] = {"": []}
    labels: dict[tuple[str, str], int] = {}
    name, waiting = "", []
    for line in text.splitlines():
        if heading := _FUNCTION.match(line):
            name, waiting = heading[1], []
            listings.setdefault(name, [])
        elif label := _LABEL.match(line):
            waiting.append(label[1])
        elif match := _LINE.search(line):
            address = int(match[1], 16)
            labels.update({(name, label): address for label in waiting})
            waiting = []
            listings[name].append((address, match[2], match[3], match[4].strip()))
    return {
        name: [
            _instruction(
                *parts, {label: at for (owner, label), at in labels.items() if owner == name}
            )
            for parts in lines
        ]
        for name, lines in listings.items()
        if lines
    }


def parse(text: str) -> list[Instruction]:
    """The instructions of the only function in the text. Raises ValueError if there are several
    or none."""
    listings = functions(text)
    if len(listings) != 1:
        raise ValueError(
            f"one function expected, the text has {len(listings)}: {', '.join(listings)}"
        )
    return next(iter(listings.values()))


def _instruction(
    address: int, predicate: str | None, name: str, operands: str, labels: dict[str, int]
) -> Instruction:
    opcode, *modifiers = name.split(".")
    target = None
    if opcode in ("BRA", "BSSY", "CALL") and (match := _TARGET.search(operands)):
        target = int(match[1], 16) if match[1] else labels.get(match[2])
    return Instruction(address, predicate, opcode, tuple(modifiers), operands, target)


def loops(instructions: list[Instruction]) -> list[list[Instruction]]:
    """The natural loops, each as its instructions in the order of addresses, larger ones first.

    A branch backwards alone makes no loop: slow paths lie behind the exit and branch back into
    straight code. It is one if every way to the branch leads through its target.
    """
    index = {instruction.address: i for i, instruction in enumerate(instructions)}
    after = [
        [index[a] for a in _successors(instructions, i) if a in index]
        for i in range(len(instructions))
    ]
    before = [[] for _ in instructions]
    for i, following in enumerate(after):
        for j in following:
            before[j].append(i)
    bodies: dict[int, set[int]] = {}
    for i, following in enumerate(after):
        for header in following:
            if header <= i and i not in _reachable(after, avoiding=header):
                body = bodies.setdefault(header, {header})
                pending = [i]
                while pending:
                    if (j := pending.pop()) not in body:
                        body.add(j)
                        pending.extend(before[j])
    bodies_in_order = [[instructions[i] for i in sorted(body)] for body in bodies.values()]
    # After the end of a function there is a branch to itself that is never reached.
    return sorted((body for body in bodies_in_order if len(body) > 1), key=len, reverse=True)


def _successors(instructions: list[Instruction], i: int) -> list[int]:
    """Addresses that may run after instruction i."""
    instruction = instructions[i]
    following = [instructions[i + 1].address] if i + 1 < len(instructions) else []
    always = instruction.predicate in (None, "PT")
    if instruction.opcode == "BRA":
        # A uniform branch may carry its condition among the operands: `BRA.U UP0, …`, `BRA P1, …`.
        always = always and not re.match(r"!?U?P\d", instruction.operands)
        return ([] if always else following) + [instruction.target]
    if instruction.opcode in ("EXIT", "RET", "BRX"):
        return [] if always else following
    if instruction.opcode == "BSYNC":
        # Threads meet where the BSSY said; the last one with this BSYNC in its region (slow paths
        # lie outside of all).
        barrier = instruction.operands.split()[0]
        opened = [
            o for o in instructions if o.opcode == "BSSY" and o.operands.startswith(f"{barrier},")
        ]
        around = [o.target for o in opened if o.address < instruction.address <= (o.target or 0)]
        return around[-1:] or [o.target for o in opened if o.target] or following
    return following


def _reachable(after: list[list[int]], avoiding: int) -> set[int]:
    """What can run without ever running instruction `avoiding`."""
    seen, pending = {avoiding}, [0]
    while pending:
        if (i := pending.pop()) not in seen:
            seen.add(i)
            pending.extend(after[i])
    return seen - {avoiding}


def time_loop(instructions: list[Instruction]) -> list[Instruction]:
    """The largest of the innermost loops that load from and store to global memory.

    Raises ValueError if no loop does both.
    """
    both = [body for body in loops(instructions) if _has(body, LOADS) and _has(body, STORES)]
    innermost = [
        body
        for body in both
        if not any(other is not body and set(other) < set(body) for other in both)
    ]
    if not innermost:
        raise ValueError("no loop both loads from and stores to global memory")
    return innermost[0]


def _has(body: list[Instruction], opcodes: tuple[str, ...]) -> bool:
    return any(instruction.opcode in opcodes for instruction in body)


def loads_before_first_store(body: list[Instruction]) -> list[Instruction]:
    """Global loads (copies to shared memory included) that are issued before the first store."""
    loads = []
    for instruction in body:
        if instruction.opcode in STORES:
            break
        if instruction.opcode in LOADS:
            loads.append(instruction)
    return loads


def loads_before_first_store_in_loop(instructions: list[Instruction]) -> int:
    """How many global loads of the time loop are issued before its first store."""
    return len(loads_before_first_store(time_loop(instructions)))


def loads_in_flight(body: list[Instruction]) -> int:
    """The most loads to registers that are under way at once when `body` runs as a loop.

    A load is under way until an instruction names a register that it writes. Loads before the first
    store may still wait for each other: this is the stricter number.
    """
    under_way: list[set[int]] = []
    most = 0
    for instruction in (*body, *body):
        if instruction.opcode in LOCAL:
            continue
        named = set(instruction.registers)
        under_way = [written for written in under_way if not written & named]
        if instruction.opcode == "LDG" and instruction.registers:
            first = instruction.registers[0]
            under_way.append(set(range(first, first + max(1, instruction.width // 32))))
            most = max(most, len(under_way))
    return most


def uses_local_memory(instructions: list[Instruction]) -> bool:
    """Whether registers were spilled or arrays are in local memory."""
    return _has(instructions, LOCAL)


def widest_load(instructions: list[Instruction]) -> int:
    """Bits of the widest global load; 0 if there is none."""
    return max(
        (instruction.width for instruction in instructions if instruction.opcode in LOADS),
        default=0,
    )


def widest_store(instructions: list[Instruction]) -> int:
    """Bits of the widest global store; 0 if there is none."""
    return max(
        (instruction.width for instruction in instructions if instruction.opcode == "STG"),
        default=0,
    )


def usages(text: str) -> dict[str, Usage]:
    """By function, from the text of `cuobjdump -res-usage`."""
    return {
        match[1]: Usage(*(int(match[i]) for i in range(2, 6))) for match in _USAGE.finditer(text)
    }


def registers(text: str) -> int:
    """Registers a thread of the only function in the text of `cuobjdump -res-usage`."""
    (usage,) = usages(text).values()
    return usage.registers


def tool(name: str) -> str | None:
    """The path of `cuobjdump` or `nvdisasm`: from Triton's wheel if it is installed, else from
    the PATH."""
    try:
        import triton

        bundled = Path(triton.__path__[0], "backends", "nvidia", "bin", name)
    except ImportError:
        bundled = None
    return str(bundled) if bundled and bundled.exists() else shutil.which(name)


def disassemble(cubin: Path) -> str:
    return subprocess.run(
        [tool("cuobjdump"), "-sass", cubin], capture_output=True, text=True, check=True
    ).stdout


def resource_usage(cubin: Path) -> str:
    return subprocess.run(
        [tool("cuobjdump"), "-res-usage", cubin], capture_output=True, text=True, check=True
    ).stdout
