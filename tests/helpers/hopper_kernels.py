"""Small kernels of what is Hopper's own, in CUDA C++, and operands laid out for them.

They run in lockstep and, by ``tests/gpu/measure_hopper.py``, on a GPU; what they left and what was counted there is in
``tests/data/hopper``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTHS = {16: 0, 128: 1, 64: 2, 32: 3}  # bytes of a row, by which a swizzle is called, and its code in a descriptor


def swizzled(offset: Any, width: int) -> Any:
    """Return where a swizzle puts a byte: chunks of 16 are exchanged among as many as a row of ``width`` has."""
    return offset ^ ((offset >> 7) & (width // 16 - 1)) << 4


def by_k(rows: int, columns: int, size: int, width: int) -> NDArray[np.int64]:
    """Return the bytes of the elements of an operand whose k are neighbours: panels of ``width`` bytes of k."""
    row, at = np.arange(rows)[:, None], np.arange(columns)[None, :] * size
    return np.asarray(swizzled(at // width * rows * width + row * width + at % width, width))


def by_m(rows: int, columns: int, size: int, width: int) -> NDArray[np.int64]:
    """Return the bytes of the elements of an operand whose m are neighbours: panels of ``width`` bytes of m."""
    at, k = np.arange(rows)[:, None] * size, np.arange(columns)[None, :]
    return np.asarray(swizzled(at // width * columns * width + k * width + at % width, width))


def image(matrix: NDArray[Any], at: NDArray[np.int64], nbytes: int, first: int = 0) -> NDArray[np.uint8]:
    """Return bytes that have the elements of a matrix at offsets from ``first`` on."""
    data = np.zeros(nbytes, np.uint8)
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(*matrix.shape, -1)
    data[first + at[..., None] + np.arange(raw.shape[-1])] = raw
    return data


def descriptor(start: int, leading: int, stride: int, width: int) -> int:
    """Return the descriptor of a matrix; its ``start`` is an offset, to which a kernel adds where its memory begins."""
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | WIDTHS[width] << 62


_LOAD = """    extern __shared__ __align__(1024) unsigned char smem[];
    int t = threadIdx.x;
    for (int i = t * 4; i < nbytes; i += blockDim.x * 4) *(unsigned *)(smem + i) = *(const unsigned *)(image + i);
    unsigned base = (unsigned)__cvta_generic_to_shared(smem);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
"""


def wgmma_kernel(name: str, instruction: str, registers: int, scales: str, of_a: int = 0) -> str:
    """Return a kernel that multiplies ``steps`` times; ``of_a`` registers of A come from global memory, if not 0."""
    d = ", ".join(f"%{n}" for n in range(registers))
    a = ", ".join(f"%{registers + n}" for n in range(of_a))
    at = registers + of_a
    first = f"{{{a}}}" if of_a else f"%{at}"
    rest = at if of_a else at + 1
    kept = ", ".join(f'"+r"(d[{n}])' for n in range(registers))
    given = "".join(f'"r"(a[{n}]), ' for n in range(of_a)) + ("" if of_a else '"l"(first), ')
    return f"""extern "C" __global__ void __launch_bounds__(128) {name}(
    unsigned *out, const unsigned char *image, int nbytes, const unsigned long long *desc, int steps,
    const unsigned *ra) {{
{_LOAD}    unsigned d[{registers}];
    for (int n = 0; n < {registers}; n++) d[n] = 0;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int s = 0; s < steps; s++) {{
        unsigned long long first = desc[2 * s] + (base >> 4), second = desc[2 * s + 1] + (base >> 4);
        {"unsigned a[4]; for (int n = 0; n < 4; n++) a[n] = ra[(s * 4 + n) * 128 + t];" if of_a else ""}
        asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{rest + 1}, 0; "
                     "{instruction} {{{d}}}, {first}, %{rest}, p{scales}; }}"
                     : {kept} : {given}"l"(second), "r"(1) : "memory");
    }}
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < {registers}; n++) out[n * 128 + t] = d[n];
}}
"""


def _product(shape: str, d: str, a: str, b: str) -> str:
    return f"wgmma.mma_async.sync.aligned.{shape}.{d}.{a}.{b}"


PRODUCTS = {
    **{
        f"wgmma_f16_{ta}{tb}": (_product("m64n64k16", "f32", "f16", "f16"), 32, f", 1, 1, {ta}, {tb}", 0)
        for ta in (0, 1)
        for tb in (0, 1)
    },
    "wgmma_negated": (_product("m64n64k16", "f32", "f16", "f16"), 32, ", -1, 1, 0, 0", 0),
    "wgmma_bf16": (_product("m64n64k16", "f32", "bf16", "bf16"), 32, ", 1, 1, 0, 0", 0),
    "wgmma_halves": (_product("m64n64k16", "f16", "f16", "f16"), 16, ", 1, 1, 0, 0", 0),
    "wgmma_registers": (_product("m64n64k16", "f32", "f16", "f16"), 32, ", 1, 1, 0", 4),
    "wgmma_n8": (_product("m64n8k16", "f32", "f16", "f16"), 4, ", 1, 1, 0, 0", 0),
    "wgmma_tf32": (_product("m64n64k8", "f32", "tf32", "tf32"), 32, ", 1, 1", 0),
    "wgmma_e4m3": (_product("m64n64k32", "f32", "e4m3", "e4m3"), 32, ", 1, 1", 0),
    "wgmma_e5m2": (_product("m64n64k32", "f32", "e5m2", "e4m3"), 32, ", 1, 1", 0),
    "wgmma_s8": (_product("m64n64k32", "s32", "s8", "s8"), 32, "", 0),
    "wgmma_u8": (_product("m64n64k32", "s32", "u8", "s8"), 32, "", 0),
}

_WAIT = """unsigned done = 0;
        for (unsigned n = 0; n < 20000 && !done; n++)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(bar) : "memory");
        if (!done) *(unsigned *)smem = 0xdeadbeef;"""
_BAR = """    __shared__ __align__(8) unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
    extern __shared__ __align__(1024) unsigned char buffer[];
    unsigned char *smem = buffer + (1024 - ((unsigned)__cvta_generic_to_shared(buffer) & 1023)) % 1024;
    unsigned base = (unsigned)__cvta_generic_to_shared(smem);
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (int i = t * 4; i < nbytes; i += blockDim.x * 4) *(unsigned *)(smem + i) = 0xeeeeeeee;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
"""
_DUMP = """    __syncthreads();
    for (int i = t * 4; i < nbytes; i += blockDim.x * 4) *(unsigned *)(out + i) = *(const unsigned *)(smem + i);
}
"""
_FILL = """    for (int i = t * 4; i < nbytes; i += blockDim.x * 4)
        *(unsigned *)(smem + i) = *(const unsigned *)(in + i);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
"""


def _coordinates(rank: int) -> str:
    return ", ".join(f"%{2 + n}" for n in range(rank))


def _tensor_load(rank: int) -> str:
    given = ", ".join(f'"r"(c{n})' for n in range(rank))
    return f"""extern "C" __global__ void tensor_load_{rank}(unsigned char *out, const void *map, int nbytes, int run,
                                              int c0, int c1, int c2, int c3, int c4) {{
{_BAR}    if (run) {{
        if (t == 0) {{
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(nbytes) : "memory");
            asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                         " [%0], [%1, {{{_coordinates(rank)}}}], [%{2 + rank}];"
                         :: "r"(base), "l"(map), {given}, "r"(bar) : "memory");
        }}
        {_WAIT}
    }}
{_DUMP}"""


def _tensor_store(rank: int, more: str = "", name: str = "store") -> str:
    given = ", ".join(f'"r"(c{n})' for n in range(rank))
    places = ", ".join(f"%{1 + n}" for n in range(rank))
    opcode = f"cp.{'reduce.' if more else ''}async.bulk.tensor.{rank}d.global.shared::cta{more}.tile.bulk_group"
    return f"""extern "C" __global__ void tensor_{name}_{rank}(const unsigned char *in, const void *map, int nbytes,
                                               int run, int c0, int c1) {{
{_BAR}{_FILL}    if (run && t == 0) {{
        asm volatile("{opcode} [%0, {{{places}}}], [%{1 + rank}];" :: "l"(map), {given}, "r"(base) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}
"""


BULK = f"""extern "C" __global__ void bulk_load(unsigned char *out, const unsigned char *in, int nbytes, int run) {{
{_BAR}    if (run) {{
        if (t == 0) {{
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(nbytes) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         :: "r"(base), "l"(in), "r"(nbytes), "r"(bar) : "memory");
        }}
        {_WAIT}
    }}
{_DUMP}
extern "C" __global__ void bulk_store(unsigned char *out, const unsigned char *in, int nbytes, int run) {{
{_BAR}{_FILL}    if (run && t == 0) {{
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :: "l"(out), "r"(base), "r"(nbytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }}
}}

extern "C" __global__ void bulk_reduce(int *out, const unsigned char *in, int nbytes, int run) {{
{_BAR}{_FILL}    if (run && t == 0) {{
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"
                     :: "l"(out), "r"(base), "r"(nbytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}

extern "C" __global__ void __cluster_dims__(2, 1, 1)
multicast(unsigned char *out, const void *map, int nbytes, int run, int c0, int c1) {{
{_BAR}    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(nbytes) : "memory");
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (run) {{
        if (t == 0 && rank == 0)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                         ".multicast::cluster [%0], [%1, {{%2, %3}}], [%4], %5;"
                         :: "r"(base), "l"(map), "r"(c0), "r"(c1), "r"(bar), "h"((unsigned short)3) : "memory");
        {_WAIT}
    }}
    out += rank * nbytes;
{_DUMP}
"""

MATRICES = """extern "C" __global__ void stmatrix_{name}(unsigned *out, int stride, int run) {{
    __shared__ __align__(1024) unsigned char smem[32 * 144];
    int t = threadIdx.x;
    unsigned base = (unsigned)__cvta_generic_to_shared(smem);
    for (int i = t * 4; i < 32 * 144; i += 128) *(unsigned *)(smem + i) = 0;
    __syncwarp();
    if (run)
        asm volatile("stmatrix.sync.aligned.m8n8.{size}{trans}.shared.b16 [%0], {{{registers}}};"
                     :: "r"(base + t * stride), "r"(t), "r"(t + 100), "r"(t + 200), "r"(t + 300) : "memory");
    __syncwarp();
    for (int i = t; i < 8 * 144; i += 32) out[i] = ((unsigned *)smem)[i];
}}
"""

CLUSTER = """extern "C" __global__ void movmatrix(unsigned *out) {
    unsigned d, t = threadIdx.x;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(2 * t | (2 * t + 1) << 16));
    out[t] = d;
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster(unsigned *out, int stride, int what) {
    __shared__ __align__(128) unsigned mine[1024];
    unsigned t = threadIdx.x, rank, blocks, got = 0, peer;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    for (int i = t; i < 1024; i += 32) mine[i] = 1000 * (blockIdx.x + 1) + i;
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    unsigned base = (unsigned)__cvta_generic_to_shared(mine) + t * stride;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(base), "r"((rank + 1) % blocks));
    if (what == 1) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(peer) : "memory");
    if (what == 2) asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(peer), "r"(7 + rank * 100 + t) : "memory");
    if (what == 3)
        asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(got) : "r"(peer), "r"(5) : "memory");
    if (what == 4) asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(got) : "r"(base) : "memory");
    if (what == 5) {
        unsigned long long far;
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(far) : "l"(&mine[t * stride / 4]), "r"((rank + 2) % blocks));
        got = *(unsigned *)far;
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x * 64 + t] = got;
    out[blockIdx.x * 64 + 32 + t] = *(unsigned *)((char *)mine + t * stride);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) addresses(unsigned *out) {
    __shared__ __align__(128) unsigned mine[32];
    unsigned rank, far, own, id;
    mine[threadIdx.x] = 0;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    unsigned base = (unsigned)__cvta_generic_to_shared(mine);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(base), "r"(rank ^ 1));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(own) : "r"(base), "r"(rank));
    unsigned *o = out + blockIdx.x * 4;
    o[0] = base, o[1] = own, o[2] = far, o[3] = rank + 16 * id;
}
"""


MAP = "struct alignas(64) Map { char bytes[128]; };\n"


def by_value(text: str) -> str:
    """Return kernels that take their tensor map by value, as those do that people write."""
    text = text.replace("const void *map", "const __grid_constant__ Map map").replace('"l"(map)', '"l"(&map)')
    return MAP + text


def texts() -> list[str]:
    """Return the text of each kernel."""
    sizes = {"x1": "%1", "x2": "%1, %2", "x4": "%1, %2, %3, %4"}
    return [
        *(wgmma_kernel(name, *product) for name, product in PRODUCTS.items()),
        *(_tensor_load(rank) for rank in range(1, 6)),
        _tensor_store(2),
        _tensor_store(2, ".add", "reduce"),
        *('extern "C"' + part for part in BULK.split('extern "C"')[1:]),
        *(
            MATRICES.format(name=size + trans, size=size, trans=f".{trans}" if trans else "", registers=registers)
            for size, registers in sizes.items()
            for trans in ("", "trans")
        ),
        *('extern "C"' + part for part in CLUSTER.split('extern "C"')[1:]),
    ]


def source() -> str:
    """Return all kernels in one text."""
    return "\n".join(texts())
