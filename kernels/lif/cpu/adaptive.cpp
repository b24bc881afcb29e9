// The neuron with an adaptive threshold for CPUs, on all cores and vectorised over neurons;
// float32, contiguous arrays (T, neurons).
//
// Recurrence: adaptive.py. Bytes for each element: forward reads 4 (x), writes 4 (s) and, with checkpoints, 8/32; backward reads 8 (x, gs)
// and 8/32 and writes 4 (gx), and recomputes potentials and thresholds in cache. Compiled at first
// use with the macros of lif_step.h and CHUNK, the steps between checkpoints.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../lif_step.h"
#include "../adaptive_step.h"

constexpr int64_t TILE = 256;  // neurons per thread at once

extern "C" void forward(int64_t threads, int64_t steps, int64_t neurons, const LifNeuron* neuron, const Adaptation* adaptation,
                        const float* currents, float* spikes, float* checkpoints) {
  const LifNeuron n = *neuron;
  const Adaptation c = *adaptation;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t first = 0; first < neurons; first += TILE) {
    const int64_t count = std::min(TILE, neurons - first);
    alignas(64) float p[TILE] = {}, a[TILE] = {};
    for (int64_t t = 0; t < steps; ++t) {
      if (checkpoints && t % CHUNK == 0) {
        float* to = checkpoints + t / CHUNK * 2 * neurons + first;
        std::copy(p, p + count, to);
        std::copy(a, a + count, to + neurons);
      }
      const float* __restrict x = currents + t * neurons + first;
      float* __restrict s = spikes + t * neurons + first;
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) {
        const float v = lif_integrate(n, p[j], x[j]);
        s[j] = lif_spike(n, v - a[j]);
        p[j] = adaptive_reset(n, c, v, s[j], a[j]);
        a[j] = c.decay * a[j] + c.jump * s[j];
      }
    }
  }
}

extern "C" void backward(int64_t threads, int64_t steps, int64_t neurons, const LifNeuron* neuron, const Adaptation* adaptation,
                         const float* currents, const float* checkpoints, const float* grad_spikes, float* grad_currents) {
  const LifNeuron n = *neuron;
  const Adaptation c = *adaptation;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t first = 0; first < neurons; first += TILE) {
    const int64_t count = std::min(TILE, neurons - first);
    alignas(64) float gp[TILE] = {}, ga[TILE] = {};  // gradients by p[t] and a[t + 1]
    alignas(64) float potentials[CHUNK][TILE], risen[CHUNK + 1][TILE];
    for (int64_t start = (steps - 1) / CHUNK * CHUNK; start >= 0; start -= CHUNK) {
      const int64_t end = std::min<int64_t>(start + CHUNK, steps);
      alignas(64) float p[TILE];
      const float* from = checkpoints + start / CHUNK * 2 * neurons + first;
      std::copy(from, from + count, p);
      std::copy(from + neurons, from + neurons + count, risen[0]);
      for (int64_t t = start; t < end; ++t) {
        const float* __restrict x = currents + t * neurons + first;
        float* __restrict v = potentials[t - start];
        const float* __restrict a = risen[t - start];
        float* __restrict next = risen[t - start + 1];
#pragma omp simd
        for (int64_t j = 0; j < count; ++j) {
          v[j] = lif_integrate(n, p[j], x[j]);
          const float s = lif_spike(n, v[j] - a[j]);
          p[j] = adaptive_reset(n, c, v[j], s, a[j]);
          next[j] = c.decay * a[j] + c.jump * s;
        }
      }
      for (int64_t t = end - 1; t >= start; --t) {
        const float* __restrict gs = grad_spikes + t * neurons + first;
        const float* __restrict v = potentials[t - start];
        const float* __restrict a = risen[t - start];
        float* __restrict gx = grad_currents + t * neurons + first;
#pragma omp simd
        for (int64_t j = 0; j < count; ++j) {
          gx[j] = adaptive_error(n, c, v[j], a[j], gs[j], gp[j], ga + j);
          gp[j] = n.decay * gx[j];
        }
      }
    }
  }
}
