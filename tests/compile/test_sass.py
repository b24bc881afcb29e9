"""The SASS reader on short listings with answers counted by hand."""

import pytest
from support import sass

HEADING = '\tcode for sm_90a\n\n\t\tFunction : {name}\n\t.headerflags\t@"EF_CUDA_SM90"\n'


def listing(lines: str, name: str = "kernel") -> str:
    """`cuobjdump -sass` of these instructions, sixteen bytes each, with the encoding that it
    prints beside them."""
    text = HEADING.format(name=name)
    for i, line in enumerate(lines.strip().splitlines()):
        text += f"        /*{i * 16:04x}*/     {line.strip()} ;      /* 0x00000a00ff017b82 */\n{' ' * 60}/* 0x000fe20000000800 */\n"
    return text


NAIVE = listing("""
    LDC R1, c[0x0][0x28]
    @!P1 LDG.E R0, desc[UR8][R10.64]
    FADD R5, R9, R0
    @!P6 STG.E desc[UR8][R12.64], R5
    LDG.E R0, desc[UR8][R10.64+0x80]
    FADD R5, R5, R0
    STG.E desc[UR8][R12.64+0x80], R5
    @P0 BRA 0x10
    EXIT
    BRA 0x90
""")

PREFETCHING = listing("""
    LDC R1, c[0x0][0x28]
    LDG.E.128 R4, desc[UR8][R20.64]
    LDG.E.128.CONSTANT R8, desc[UR8][R20.64+0x200]
    LDG.E.U16 R12, desc[UR8][R20.64+0x400]
    FADD R16, R16, R7
    STG.E.128 desc[UR8][R22.64], R16
    FADD R16, R16, R8
    @P0 BRA 0x10
    EXIT
    BRA 0x90
""")

WAITING = listing("""
    LDG.E R4, desc[UR8][R20.64]
    FADD R16, R16, R4
    LDG.E R4, desc[UR8][R20.64+0x200]
    FADD R16, R16, R4
    STG.E desc[UR8][R22.64], R16
    @P0 BRA 0x0
    EXIT
""")


def test_instruction_is_taken_apart():
    load = sass.parse(NAIVE)[1]
    assert (load.address, load.predicate, load.opcode, load.modifiers) == (
        0x10,
        "!P1",
        "LDG",
        ("E",),
    )
    assert load.registers == (0, 10)
    assert sass.parse(NAIVE)[7].target == 0x10


def test_loop_is_found_and_the_branch_to_itself_at_the_end_is_none():
    (body,) = sass.loops(sass.parse(NAIVE))
    assert [body[0].address, body[-1].address] == [0x10, 0x70]


def test_loads_before_the_first_store():
    assert sass.loads_before_first_store_in_loop(sass.parse(NAIVE)) == 1
    assert sass.loads_before_first_store_in_loop(sass.parse(PREFETCHING)) == 3


def test_loads_in_flight_end_where_their_result_is_read():
    assert sass.loads_in_flight(sass.time_loop(sass.parse(NAIVE))) == 1
    assert sass.loads_before_first_store_in_loop(sass.parse(WAITING)) == 2
    assert sass.loads_in_flight(sass.time_loop(sass.parse(WAITING))) == 1
    # R7 is the last of the four registers that the first load writes.
    assert sass.loads_in_flight(sass.time_loop(sass.parse(PREFETCHING))) == 3


def test_copies_to_shared_memory_count_as_loads():
    text = listing(
        "LDGSTS.E.BYPASS.128 [R3], desc[UR8][R2.64]\nSTG.E desc[UR8][R4.64], R6\n@P0 BRA 0x0\nEXIT"
    )
    assert sass.loads_before_first_store_in_loop(sass.parse(text)) == 1
    assert sass.widest_load(sass.parse(text)) == 128


def test_widths():
    assert sass.widest_load(sass.parse(NAIVE)) == 32
    assert sass.widest_load(sass.parse(PREFETCHING)) == 128
    assert sass.widest_store(sass.parse(PREFETCHING)) == 128
    assert [i.width for i in sass.parse(PREFETCHING) if i.opcode == "LDG"] == [128, 128, 16]
    assert sass.widest_load(sass.parse(listing("EXIT"))) == 0


def test_local_memory():
    assert not sass.uses_local_memory(sass.parse(NAIVE))
    assert sass.uses_local_memory(sass.parse(listing("STL.64 [R1], R4\nLDL R4, [R1+0x8]\nEXIT")))


def test_slow_path_behind_the_exit_is_no_loop():
    text = listing("""
        LDG.E R0, desc[UR8][R10.64]
        @P1 BRA 0x50
        STG.E desc[UR8][R12.64], R0
        @P0 BRA 0x0
        EXIT
        FMUL R0, R0, R2
        BRA 0x20
    """)
    (body,) = sass.loops(sass.parse(text))
    assert [i.address for i in body] == [0x0, 0x10, 0x20, 0x30, 0x50, 0x60]


def test_threads_that_meet_again_are_no_loop():
    text = listing("""
        BSSY B0, 0x40
        @P1 BRA 0x30
        FMUL R0, R0, R2
        BSYNC B0
        BSSY B0, 0x80
        @P1 BRA 0x70
        FMUL R0, R0, R2
        BSYNC B0
        EXIT
    """)
    assert sass.loops(sass.parse(text)) == []


def test_inner_loop_with_both_is_the_time_loop():
    text = listing("""
        LDG.E R8, desc[UR8][R10.64]
        LDG.E R0, desc[UR8][R10.64]
        STG.E desc[UR8][R12.64], R0
        @P0 BRA 0x10
        STG.E desc[UR8][R12.64], R8
        @P1 BRA 0x0
        EXIT
    """)
    assert len(sass.loops(sass.parse(text))) == 2
    assert [i.address for i in sass.time_loop(sass.parse(text))] == [0x10, 0x20, 0x30]


def test_no_time_loop_is_an_error():
    with pytest.raises(ValueError, match="no loop both loads"):
        sass.time_loop(sass.parse(listing("LDG.E R0, desc[UR8][R10.64]\nEXIT")))


def test_labels_of_nvdisasm():
    text = """
        .section	.text.kernel,"ax",@progbits
kernel:
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_8:
        /*0010*/                   LDG.E R0, desc[UR8][R10.64] ;
        /*0020*/                   STG.E desc[UR8][R12.64], R0 ;
        /*0030*/               @P0 BRA `(.L_x_8) ;
        /*0040*/                   EXIT ;
"""
    assert list(sass.functions(text)) == ["kernel"]
    assert [i.address for i in sass.time_loop(sass.parse(text))] == [0x10, 0x20, 0x30]


def test_functions_are_kept_apart():
    text = listing("LDG.E R0, desc[UR8][R10.64]\nEXIT", "first") + listing("EXIT", "second")
    assert {name: len(body) for name, body in sass.functions(text).items()} == {
        "first": 2,
        "second": 1,
    }
    with pytest.raises(ValueError, match="has 2: first, second"):
        sass.parse(text)


def test_resource_usage():
    text = " Function kernel:\n  REG:28 STACK:8 SHARED:16 LOCAL:0 CONSTANT[0]:576 TEXTURE:0 SURFACE:0 SAMPLER:0\n"
    assert sass.usages(text) == {"kernel": sass.Usage(28, 8, 16, 0)}
    assert sass.registers(text) == 28
