"""Tensor maps that a kernel changes before a copy takes them, and stores that an mbarrier counts."""

import numpy as np

import smemviz
from smemviz.engines.lockstep.ptx.host.arguments import StructureValue
from smemviz.engines.lockstep.ptx.tensor_maps import encoded

WAIT = """{ unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(bar) : "memory"); }"""
CHANGED = f"""struct alignas(64) Map {{ char bytes[128]; }};
__global__ void k(int *out, const __grid_constant__ Map map, const int *other, Map *space) {{
    __shared__ alignas(128) int tile[8 * 32];
    __shared__ alignas(128) Map mine;
    __shared__ alignas(8) unsigned long long barrier;
    unsigned bar = __cvta_generic_to_shared(&barrier), at = __cvta_generic_to_shared(&mine), t = threadIdx.x;
    ((int *)&mine)[t] = ((const int *)&map)[t];
    __syncwarp();
    if (t == 0) {{
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" :: "r"(at), "l"(other));
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(at), "r"(6));
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" :: "r"(at), "l"(256ull));
    }}
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                 "[%0], [%1], 128;" :: "l"(space), "r"(at) : "memory");
    if (t == 0) {{
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(space) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {{0, 0}}], [%2];"
                     :: "r"((unsigned)__cvta_generic_to_shared(tile)), "l"(space), "r"(bar) : "memory");
    }}
    {WAIT}
    for (int i = t; i < 8 * 32; i += 32) out[i] = tile[i];
}}
"""


def test_a_kernel_changes_where_a_tensor_lies_how_large_it_is_and_how_far_apart_its_rows_are():
    first, other = np.zeros((8, 32), np.int32), np.arange(8 * 64, dtype=np.int32).reshape(8, 64)
    given = StructureValue(encoded(3, (32, 8), (128,), (32, 8)), {0: ("", first)})
    out = np.full((8, 32), -1, np.int32)
    space = np.zeros(128, np.uint8)
    recording = smemviz.cuda_cpp(CHANGED)["k"][1, 32](out.reshape(-1), given, other.reshape(-1), space)
    assert (out[:6] == other[:6, :32]).all()
    assert (out[6:] == 0).all()  # outside of the tensor as it is now
    assert recording.findings == ()


STORED = f"""__global__ void __cluster_dims__(2, 1, 1) k(int *out) {{
    __shared__ alignas(16) int mine[2 * 32];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned bar = __cvta_generic_to_shared(&barrier), at = __cvta_generic_to_shared(mine), t = threadIdx.x, rank, to;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {{
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(bar) : "memory");
    }}
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at + 8 * t), "r"(rank ^ 1));
    unsigned its;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(its) : "r"(bar), "r"(rank ^ 1));
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {{%1, %2}}, [%3];"
                 :: "r"(to), "r"(100 * rank + t), "r"(1000 * rank + t), "r"(its) : "memory");
    {WAIT}
    out[64 * rank + 2 * t] = mine[2 * t], out[64 * rank + 2 * t + 1] = mine[2 * t + 1];
    unsigned clusters;
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
    if (clusters != 1) out[0] = -1;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}}
"""


def test_stores_into_another_block_complete_the_phase_that_waits_for_their_bytes():
    out = np.zeros((2, 32, 2), np.int32)
    recording = smemviz.cuda_cpp(STORED)["k"][2, 32](out.reshape(-1))
    lanes = np.arange(32)
    for rank in (0, 1):
        assert (out[rank] == np.stack([100 * (1 - rank) + lanes, 1000 * (1 - rank) + lanes], axis=1)).all()
    assert recording.findings == ()
