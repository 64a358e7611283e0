import pytest

import smemviz

BLAS = """\
#include <cublas_v2.h>
#include <cstdio>
__global__ void k(float *x) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x];
}
float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, -1, 2, 1, 1}, c[4];
float *d;  // a, then b, then c
template <class T> void show(const char *name, const T *from, int n) {
  T to[6];
  cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost);
  printf("%s", name);
  for (int i = 0; i < n; i++) printf(" %g", (double)to[i]);
  printf("\\n");
}
int main() {
  cublasHandle_t h;
  cublasCreate(&h);
  cudaMalloc(&d, 32 * 4);
  cudaMemset(d, 255, 32 * 4);  // what is not written is not a number
  cublasSetVector(6, 4, a, 1, d, 1);
  cublasSetMatrix(3, 2, 4, b, 3, d + 6, 3);
  float one = 1, two = 2, zero = 0;
  cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &two, d, 2, d + 6, 3, &zero, d + 12, 2);
  show("product", d + 12, 4);
  cublasSgemm(h, CUBLAS_OP_T, CUBLAS_OP_T, 2, 2, 3, &one, d, 3, d + 6, 2, &one, d + 12, 2);
  show("turned", d + 12, 4);
  cublasGemmStridedBatchedEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 3, &one, d, CUDA_R_32F, 1, 3, d + 6, CUDA_R_32F, 3, 3,
                             &zero, d + 12, CUDA_R_32F, 1, 1, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  show("batched", d + 12, 2);
  cublasSgemv(h, CUBLAS_OP_T, 2, 3, &one, d, 2, d + 6, 2, &zero, d + 12, 1);
  show("gemv", d + 12, 3);
  cublasSgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, &one, d, 2, &zero, d, 3, d + 12, 3);
  show("transposed", d + 12, 6);
  cublasSaxpy(h, 3, &two, d, 1, d + 6, 2);
  cublasSscal(h, 2, &two, d + 6, 1);
  show("vectors", d + 6, 6);
  float dot, norm, sum;
  int most;
  cublasSdot(h, 3, d, 1, d, -1, &dot);
  cublasSnrm2(h, 2, d + 2, 1, &norm);
  cublasSasum(h, 6, d + 6, 1, &sum);
  cublasIsamax(h, 6, d + 6, 1, &most);
  printf("%g %g %g %d\\n", dot, norm, sum, most);
  double x = 3, *dx;
  cudaMalloc(&dx, 16);
  cublasSetVector(1, 8, &x, 1, dx, 1);
  cublasDdot(h, 1, dx, 1, dx, 1, dx + 1);
  show("double", dx, 2);
  printf("outside %d\\n", cublasSscal(h, 33, &two, d, 1));
  k<<<1, 32>>>(d);
  cublasDestroy(h);
}
"""
# By hand: a is [1 3 5; 2 4 6] by columns, b is [1 2; 0 1; -1 1]; turned, b is [1 -1 1; 0 2 1].
BLAS_PRINTED = """\
product -8 -8 20 28
turned -6 -3 27 44
batched -2 19
gemv -1 -1 -1
transposed 1 3 5 2 4 6
vectors 6 0 3 2 7 1
10 5 19 5
double 3 9
outside 13
"""

RANDOM = """\
#include <curand.h>
#include <cstdio>
__global__ void k(float *x) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x];
}
const int N = 4096;
float *d, x[N];
void show(float low, float high) {
  cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
  double sum = 0;
  int outside = 0;
  for (int i = 0; i < N; i++) sum += x[i], outside += !(low < x[i] && x[i] <= high);
  printf("%.1f, %d outside\\n", sum / N, outside);
}
int main() {
  cudaMalloc(&d, sizeof x);
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
  curandSetPseudoRandomGeneratorSeed(generator, 1234ULL);
  curandGenerateUniform(generator, d, N);
  show(0, 1);
  curandGenerateNormal(generator, d, N, 5.0f, 0.5f);
  show(0, 10);
  k<<<1, 32>>>(d);
  printf("%d\\n", curandGenerateUniform(generator, d, N + 1));
}
"""


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param(BLAS, BLAS_PRINTED, id="blas"),
        pytest.param(RANDOM, "0.5, 0 outside\n5.0, 0 outside\n201\n", id="random", marks=pytest.mark.exhaustive),
    ],
)
def test_numpy_does_what_a_library_would(write, capsys, text, printed):
    recording = smemviz.run(write(p_cu=text))
    assert capsys.readouterr().out == printed
    assert [launch.kernel for launch in recording.launches] == ["k"]
