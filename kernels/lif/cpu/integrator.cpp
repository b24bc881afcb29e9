// An integrator over time and the sum over time of its softmax, in float32 on CPUs.
//
// forward    v[t] = decay · v[t-1] + gain · x[t], from 0; with INTEGRATOR_SOFTMAX p[t] = softmax(v[t])
//            is written in place of v[t], and their sum
// backward   h[t] = g[t] + decay · h[t+1], gain · h[t] by x[t]; with INTEGRATOR_SOFTMAX, from the
//            gradient G by the sum, g[t] = p[t] · (G − Σ p[t] · G)
//
// Threads process rows, each from the first step to the last: an item with the softmax, else MOST
// numbers. Compiled at first use; the interface is plain C.

#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstring>

constexpr int64_t MOST = 1024, LANES = 16;  // numbers of a row, and those that are computed together

struct Numbers {
  int64_t threads, steps, numbers, width;  // numbers of a step, in rows of `width` ≤ MOST; the last may be shorter
  float decay, gain;
};

struct Arrays {
  const float* from;  // x; backward with the softmax: p, else g: (steps, numbers)
  float* to;          // v or p; the gradient by x
  float* sum;         // Σ p, written; backward: G. (numbers,), missing without the softmax
};

struct Row {
  alignas(64) float values[MOST];

  void read(const float* from, int64_t count) {
    memcpy(values, from, count * 4);
    for (int64_t j = count; j % LANES; ++j) values[j] = 0.0f;
  }
};

#if INTEGRATOR_SOFTMAX
// exp(x) for x ≤ 0 by the polynomial of Cephes' expf, within 2 ulp; e⁻⁸⁷ below −87.
static inline __attribute__((always_inline)) float exp_of(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float n = std::floor(x * 1.44269504f + 0.5f), r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  const int32_t bits = ((int32_t)n + 127) << 23;
  float power;
  memcpy(&power, &bits, 4);
  return y * power;
}

static float sum_of(float lanes[LANES]) {
  for (int64_t half = LANES / 2; half; half /= 2)
    for (int64_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  return lanes[0];
}
#endif

static void forward(const Numbers& n, const Arrays& arrays, int64_t first, int64_t count) {
  const float decay = n.decay, gain = n.gain;
  Row x, v;
  memset(v.values, 0, sizeof v.values);
#if INTEGRATOR_SOFTMAX
  Row outside, p, total;  // outside: −∞ in lanes beyond the row
  memset(total.values, 0, sizeof total.values);
  for (int64_t j = 0; j < MOST; ++j) outside.values[j] = j < count ? 0.0f : -INFINITY;
#endif
  for (int64_t t = 0; t < n.steps; ++t) {
    const int64_t at = t * n.numbers + first;
    x.read(arrays.from + at, count);
#if INTEGRATOR_SOFTMAX
    alignas(64) float lanes[LANES], sums[LANES] = {};
    for (int64_t j = 0; j < LANES; ++j) lanes[j] = -INFINITY;
#endif
    for (int64_t block = 0; block < count; block += LANES) {
      float *__restrict to = v.values + block, *__restrict from = x.values + block;
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) to[j] = decay * to[j] + gain * from[j];
#if INTEGRATOR_SOFTMAX
      const float* __restrict beyond = outside.values + block;
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) lanes[j] = to[j] + beyond[j] > lanes[j] ? to[j] + beyond[j] : lanes[j];
#endif
    }
#if INTEGRATOR_SOFTMAX
    for (int64_t half = LANES / 2; half; half /= 2)
      for (int64_t j = 0; j < half; ++j) lanes[j] = lanes[j + half] > lanes[j] ? lanes[j + half] : lanes[j];
    const float most = lanes[0];
    for (int64_t block = 0; block < count; block += LANES) {
      const float *__restrict from = v.values + block, *__restrict beyond = outside.values + block;
      float* __restrict to = p.values + block;
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) sums[j] += to[j] = exp_of(from[j] + beyond[j] - most);
    }
    const float share = 1.0f / sum_of(sums);
    for (int64_t block = 0; block < count; block += LANES) {
      float *__restrict to = p.values + block, *__restrict sum = total.values + block;
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) sum[j] += to[j] *= share;
    }
    memcpy(arrays.to + at, p.values, count * 4);
#else
    memcpy(arrays.to + at, v.values, count * 4);
#endif
  }
#if INTEGRATOR_SOFTMAX
  memcpy(arrays.sum + first, total.values, count * 4);
#endif
}

static void backward(const Numbers& n, const Arrays& arrays, int64_t first, int64_t count) {
  const float decay = n.decay, gain = n.gain;
  Row from, h, to;
  memset(h.values, 0, sizeof h.values);
#if INTEGRATOR_SOFTMAX
  Row by_sum;
  by_sum.read(arrays.sum + first, count);
#endif
  for (int64_t t = n.steps - 1; t >= 0; --t) {
    const int64_t at = t * n.numbers + first;
    from.read(arrays.from + at, count);
#if INTEGRATOR_SOFTMAX
    alignas(64) float sums[LANES] = {};
    for (int64_t block = 0; block < count; block += LANES) {
      const float *__restrict p = from.values + block, *__restrict g = by_sum.values + block;
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) sums[j] += p[j] * g[j];
    }
    const float mean = sum_of(sums);
#endif
    for (int64_t block = 0; block < count; block += LANES) {
      const float* __restrict g = from.values + block;
      float *__restrict later = h.values + block, *__restrict by_x = to.values + block;
#if INTEGRATOR_SOFTMAX
      const float* __restrict by = by_sum.values + block;
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) later[j] = g[j] * (by[j] - mean) + decay * later[j];
#else
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) later[j] = g[j] + decay * later[j];
#endif
#pragma omp simd
      for (int64_t j = 0; j < LANES; ++j) by_x[j] = gain * later[j];
    }
    memcpy(arrays.to + at, to.values, count * 4);
  }
}

template <typename Pass>
static void rows(const Numbers& n, Pass pass) {
  const int64_t rows = (n.numbers + n.width - 1) / n.width;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1)
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * n.width, rest = n.numbers - first;
    pass(first, rest < n.width ? rest : n.width);
  }
}

extern "C" void integrator_forward(const Numbers* n, const Arrays* arrays) {
  rows(*n, [&](int64_t first, int64_t count) { forward(*n, *arrays, first, count); });
}

extern "C" void integrator_backward(const Numbers* n, const Arrays* arrays) {
  rows(*n, [&](int64_t first, int64_t count) { backward(*n, *arrays, first, count); });
}
