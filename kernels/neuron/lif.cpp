// The neuron for CPUs: all cores, vectors over neurons, a tile of neurons kept in cache while time passes.
//
// Recurrence: lif_step.h. Bytes per element, float32: forward reads 4 (x) and writes 4 (s) and, with checkpoints, 4/32;
// backward reads 8 (x, gs) and 4/32 and writes 4 (gx); potentials are recomputed in cache. Strides: rows.h.
//
// Compiled at first use with LIF_FORWARD or LIF_BACKWARD, LIF_CURRENT and LIF_SPIKE (of spikes, and of their gradient)
// set to element types, LIF_BITS to 0 or 1, and the macros of lif_step.h. The interface is plain C: one struct of
// numbers and arrays, filled by cpp.py in the order in which they stand here.

#include <cmath>

using std::floor;

#include "lif_step.h"
#include "rows.h"

constexpr int64_t CHUNK = 32;  // CHECKPOINT_STEPS of calls.py

struct Head {
  int64_t threads, steps, sizes[DIMS];
  LifNeuron neuron;
  int64_t elements() const { return steps * sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};

template <typename Call, typename Tile>
static void for_every_tile(const Call& call, Tile tile_pass) {
  const Tiles tiles(call.head.sizes, call.head.threads);
#pragma omp parallel for schedule(static) num_threads(call.head.threads) if (call.head.threads > 1)
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    int64_t index[DIMS];
    const int64_t count = tiles.place(tile, index);
    tile_pass(call, index, count);
  }
}

#ifdef LIF_FORWARD

struct ForwardCall {
  Head head;
  Array<const LIF_CURRENT> currents;
  Array<const float> state, scale, shift;
  Array<LIF_SPIKE> spikes;
  Array<float> final_state;
  Array<LIF_CURRENT> trace;
  Array<float> checkpoints;
};

template <bool traced>
static void forward_tile(const ForwardCall& call, const int64_t* index, int64_t count) {
  const LifNeuron n = call.head.neuron;
  const Result<LIF_SPIKE> spikes(call.spikes, call.head.elements());
  const Result<LIF_CURRENT> trace(call.trace, call.head.elements());
  alignas(64) float p[TILE], scale[TILE], shift[TILE], x_row[TILE], s_row[TILE], v_row[TILE];
  call.state.load(index, 0, count, p, 0.0f);
  call.scale.load(index, 0, count, scale, 1.0f);
  call.shift.load(index, 0, count, shift, 0.0f);
  for (int64_t t = 0; t < call.head.steps; ++t) {
    if (call.checkpoints && t % CHUNK == 0) call.checkpoints.store(index, t / CHUNK, count, p);
    if (t + AHEAD < call.head.steps) call.currents.prefetch(index, t + AHEAD, count);
    const float* __restrict x = call.currents.row(index, t, count, x_row);
    float* __restrict s = LIF_BITS ? s_row : spikes.place(index, t, s_row);
    float* __restrict v = traced ? trace.place(index, t, v_row) : v_row;
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      const float potential = lif_integrate(n, p[j], scale[j] * x[j] + shift[j]);
      s[j] = lif_spike(n, potential);
      p[j] = lif_reset(n, potential, s[j]);
      if (traced) v[j] = potential;
    }
#if LIF_BITS
    const int64_t in_bytes[DIMS] = {index[0], index[1], index[2], index[3] / 8};
    store_bits(call.spikes.at(in_bytes, t), count, s);
#else
    spikes.write(index, t, count, s);
#endif
    if (traced) trace.write(index, t, count, v);
  }
  call.final_state.store(index, 0, count, p);
}

extern "C" void lif_forward(const ForwardCall* call) {
  for_every_tile(*call, call->trace ? forward_tile<true> : forward_tile<false>);
}

#endif
#ifdef LIF_BACKWARD

struct BackwardCall {
  Head head;
  Array<const LIF_CURRENT> currents;
  Array<const float> scale, shift, checkpoints;
  Array<const LIF_SPIKE> grad_spikes;
  Array<const LIF_CURRENT> grad_trace;
  Array<const float> grad_final, center, mix[3];
  Array<LIF_CURRENT> grad_currents;
  Array<float> grad_state, sum_error, sum_by_current;
};

struct Columns {  // of a tile: numbers that stay, and what is carried from step to step
  alignas(64) float scale[TILE], shift[TILE], center[TILE], mix[3][TILE];
  alignas(64) float gp[TILE], sum_error[TILE], sum_by_current[TILE];
  alignas(64) float chunk_error[TILE], chunk_by_current[TILE];  // sums of a chunk: short sums keep more digits
  alignas(64) float potentials[CHUNK][TILE];
};

// v[t] of the steps [first, end), from the state before them.
static void replay(const BackwardCall& call, const int64_t* index, int64_t count, int64_t first, int64_t end, Columns& columns) {
  const LifNeuron n = call.head.neuron;
  alignas(64) float p[TILE], x_row[TILE];
  call.checkpoints.load(index, first / CHUNK, count, p, 0.0f);
  for (int64_t t = first; t < end; ++t) {
    if (t + AHEAD < end) call.currents.prefetch(index, t + AHEAD, count);
    const float* __restrict x = call.currents.row(index, t, count, x_row);
    float* __restrict v = columns.potentials[t - first];
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      v[j] = lif_integrate(n, p[j], columns.scale[j] * x[j] + columns.shift[j]);
      p[j] = lif_reset(n, v[j], lif_spike(n, v[j]));
    }
  }
}

// e[t], and from it gp[t-1], the gradient by the currents and the sums. `general`: there is a scale, a trace's gradient, a
// mix or a sum by current to take care of.
template <bool general>
static void step_back(const BackwardCall& call, const int64_t* index, int64_t count, int64_t t, const float* __restrict v,
                      const Result<LIF_CURRENT>& grad_currents, Columns& columns) {
  static const float zeros[TILE] = {};
  const bool mixed = (bool)call.mix[0];
  const LifNeuron n = call.head.neuron;
  alignas(64) float x_row[TILE], gs_row[TILE], gv_row[TILE], out_row[TILE];
  if (t >= AHEAD) call.grad_spikes.prefetch(index, t - AHEAD, count);
  const float* gs = call.grad_spikes ? call.grad_spikes.row(index, t, count, gs_row) : zeros;
  const float* gv = general && call.grad_trace ? call.grad_trace.row(index, t, count, gv_row) : zeros;
  const float* x = general ? call.currents.row(index, t, count, x_row) : zeros;
  float* __restrict out = call.grad_currents ? grad_currents.place(index, t, out_row) : out_row;
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) {
    const float e = lif_error(n, v[j], gs[j], general ? gv[j] : 0.0f, columns.gp[j]);
    columns.gp[j] = n.decay * e;
    columns.chunk_error[j] += e;
    if (general) {
      const float centered = x[j] - columns.center[j];
      columns.chunk_by_current[j] += e * centered;
      const float scaled = columns.mix[0][j] * e;
      out[j] = mixed ? (scaled + columns.mix[1][j] * centered) + columns.mix[2][j] : scaled;
    } else {
      out[j] = e;
    }
  }
  if (call.grad_currents) grad_currents.write(index, t, count, out);
}

template <bool general>
static void backward_tile(const BackwardCall& call, const int64_t* index, int64_t count) {
  const Result<LIF_CURRENT> grad_currents(call.grad_currents, call.head.elements());
  Columns columns;
  call.scale.load(index, 0, count, columns.scale, 1.0f);
  call.shift.load(index, 0, count, columns.shift, 0.0f);
  call.center.load(index, 0, count, columns.center, 0.0f);
  (call.mix[0] ? call.mix[0] : call.scale).load(index, 0, count, columns.mix[0], 1.0f);
  call.mix[1].load(index, 0, count, columns.mix[1], 0.0f);
  call.mix[2].load(index, 0, count, columns.mix[2], 0.0f);
  call.grad_final.load(index, 0, count, columns.gp, 0.0f);
  memset(columns.sum_error, 0, sizeof columns.sum_error);
  memset(columns.sum_by_current, 0, sizeof columns.sum_by_current);
  for (int64_t chunk = (call.head.steps - 1) / CHUNK; chunk >= 0; --chunk) {
    const int64_t first = chunk * CHUNK, end = first + CHUNK < call.head.steps ? first + CHUNK : call.head.steps;
    replay(call, index, count, first, end, columns);
    memset(columns.chunk_error, 0, sizeof columns.chunk_error);
    memset(columns.chunk_by_current, 0, sizeof columns.chunk_by_current);
    for (int64_t t = end - 1; t >= first; --t)
      step_back<general>(call, index, count, t, columns.potentials[t - first], grad_currents, columns);
    for (int64_t j = 0; j < count; ++j) {
      columns.sum_error[j] += columns.chunk_error[j];
      columns.sum_by_current[j] += columns.chunk_by_current[j];
    }
  }
  if (call.grad_state) call.grad_state.store(index, 0, count, columns.gp);
  if (call.sum_error) call.sum_error.store(index, 0, count, columns.sum_error);
  if (call.sum_by_current) call.sum_by_current.store(index, 0, count, columns.sum_by_current);
}

extern "C" void lif_backward(const BackwardCall* given) {
  const BackwardCall& call = *given;
  const bool general = call.scale || call.grad_trace || call.mix[0] || call.sum_by_current;
  for_every_tile(call, general ? backward_tile<true> : backward_tile<false>);
}

#endif
