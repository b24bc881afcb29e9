// The neuron for CPUs, on all cores and vectorised over neurons. A tile of neurons stays in cache
// over all steps.
//
// Recurrence: lif_step.h. Bytes for each float32 element: forward reads 4 (x) and writes 4 (s) and,
// with checkpoints, 4/32; backward reads 8 (x, gs) and 4/32 and writes 4 (gx); potentials are
// recomputed in cache. Strides: rows.h.
//
// Compiled at first use, with these macros: LIF_FORWARD or LIF_BACKWARD; LIF_CURRENT and LIF_SPIKE,
// the element types of currents and of spikes (or their gradient); 0 or 1 for LIF_BITS, LIF_SCALED
// (there is a scale or shift), LIF_TRACED (a trace, or its gradient), LIF_SUMMED (the error is
// summed) and LIF_MIXED (center, mix or sum by current); and those of lif_step.h. The interface is
// plain C: one struct of numbers and strides, which launch.py packs once for all calls of a kind,
// and the addresses of the arrays. Both have the arrays in the order of the structs here.

#include <cmath>

using std::floor;

#include "../lif_step.h"
#include "rows.h"

constexpr int64_t CHUNK = LIF_CHUNK;  // CHECKPOINT_STEPS

// i[t]
static inline float current_of(float x, float scale, float shift) { return LIF_SCALED ? scale * x + shift : x; }

struct Head {
  int64_t threads, steps, sizes[DIMS];
  LifNeuron neuron;
  int64_t elements() const { return steps * sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};

// The call `like`, a Head and then Arrays only, with the address of each array.
template <typename Call>
static Call with_addresses(Call call, const void* const* addresses) {
  constexpr size_t array = sizeof(Array<float>);  // equal for all element types; the address comes first
  static_assert((sizeof(Call) - sizeof(Head)) % array == 0, "there is more than arrays");
  for (size_t at = sizeof(Head); at < sizeof(Call); at += array) memcpy((char*)&call + at, addresses++, sizeof(void*));
  return call;
}

template <typename Call, typename Tile>
static void for_every_tile(const Call& call, int64_t widest, Tile tile_pass) {
  const Tiles tiles(call.head.sizes, call.head.threads, widest);
#pragma omp parallel for schedule(static) num_threads(call.head.threads) if (call.head.threads > 1)
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    int64_t index[DIMS];
    const int64_t count = tiles.place(tile, index);
    tile_pass(call, index, count);
    finish_writes();
  }
}

#ifdef LIF_FORWARD

struct ForwardCall {
  Head head;
  Array<LIF_CURRENT> trace;
  Array<float> checkpoints;
  Array<const LIF_CURRENT> currents;
  Array<LIF_SPIKE> spikes;
  Array<const float> state, scale, shift;
  Array<float> final_state;
};

static_assert(sizeof(ForwardCall) == LIF_BYTES, "launch.py packs something else");

struct States {  // of a tile: potentials after reset, and constants over time
  alignas(64) float p[WIDE], scale[LIF_SCALED ? WIDE : 1], shift[LIF_SCALED ? WIDE : 1];
};

static void forward_tile(const ForwardCall& call, const int64_t* index, int64_t width) {
  const LifNeuron n = call.head.neuron;
  const Result<LIF_SPIKE> spikes(call.spikes, call.head.elements());
  const Result<LIF_CURRENT> trace(call.trace, call.head.elements());
  States states;
  call.state.load(call.state.at(index), width, states.p, 0.0f);
  if (LIF_SCALED) {
    call.scale.load(call.scale.at(index), width, states.scale, 1.0f);
    call.shift.load(call.shift.at(index), width, states.shift, 0.0f);
  }
  alignas(64) float x_row[TILE], s_row[TILE], v_row[TILE];
  const int64_t in_bytes[DIMS] = {index[0], index[1], index[2], index[3] / 8};
  const LIF_CURRENT* from = call.currents.at(index);
  LIF_SPIKE* to = call.spikes.at(LIF_BITS ? in_bytes : index);
  LIF_CURRENT* v_to = call.trace.at(index);
  float* checkpoint = call.checkpoints.at(index);
  for (int64_t t = 0; t < call.head.steps; ++t, from += call.currents.time, to += call.spikes.time, v_to += call.trace.time) {
    if (checkpoint && t % CHUNK == 0) call.checkpoints.store(checkpoint + t / CHUNK * call.checkpoints.time, width, states.p);
    for (int64_t first = 0; first < width; first += TILE) {
      const int64_t count = width - first < TILE ? width - first : TILE;
      const LIF_CURRENT* x_from = from + first * call.currents.stride();
      if (t + AHEAD < call.head.steps) call.currents.prefetch<3>(x_from + AHEAD * call.currents.time, count);
      LIF_SPIKE* s_to = to + (LIF_BITS ? first / 8 : first * call.spikes.stride());
      LIF_CURRENT* trace_to = v_to + first * call.trace.stride();
      const float* __restrict x = call.currents.row(x_from, count, x_row);
      const float* __restrict scale = states.scale + (LIF_SCALED ? first : 0);
      const float* __restrict shift = states.shift + (LIF_SCALED ? first : 0);
      float* __restrict p = states.p + first;
      float* __restrict s = LIF_BITS ? s_row : spikes.place(s_to, s_row);
      float* __restrict v = LIF_TRACED ? trace.place(trace_to, v_row) : v_row;
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) {
        const float potential = lif_integrate(n, p[j], LIF_SCALED ? scale[j] * x[j] + shift[j] : x[j]);
        s[j] = lif_spike(n, potential);
        p[j] = lif_reset(n, potential, s[j]);
        if (LIF_TRACED) v[j] = potential;
      }
#if LIF_BITS
      store_bits(s_to, count, s);
#else
      spikes.write(s_to, count, s);
#endif
      if (LIF_TRACED) trace.write(trace_to, count, v);
    }
  }
  call.final_state.store(call.final_state.at(index), width, states.p);
}

extern "C" void lif_forward(const ForwardCall* like, const void* const* addresses) {
  for_every_tile(with_addresses(*like, addresses), WIDE, forward_tile);
}

#endif
#ifdef LIF_BACKWARD

struct BackwardCall {
  Head head;
  Array<const LIF_SPIKE> grad_spikes;
  Array<const LIF_CURRENT> grad_trace;
  Array<LIF_CURRENT> grad_currents;
  Array<const LIF_CURRENT> currents;
  Array<const float> checkpoints, scale, shift, grad_final, center, mix[3];
  Array<float> grad_state, sum_error, sum_by_current;
};

static_assert(sizeof(BackwardCall) == LIF_BYTES, "launch.py packs something else");

struct Columns {  // of a tile: constants over time, and values carried from step to step
  alignas(64) float scale[TILE], shift[TILE], center[TILE], mix[3][TILE];
  alignas(64) float gp[TILE], sum_error[TILE], sum_by_current[TILE];
  alignas(64) float chunk_error[TILE], chunk_by_current[TILE];  // sums of a chunk: short sums keep more digits
  alignas(64) float potentials[CHUNK][TILE];
};

// Addresses of a tile's arrays at step 0.
struct Places {
  const LIF_CURRENT* currents;
  const LIF_SPIKE* grad_spikes;
  const LIF_CURRENT* grad_trace;
  LIF_CURRENT* grad_currents;
  const float* checkpoints;
};

// v[t] of the steps [start, end), from the state before them. Prefetches currents some steps ahead,
// and the gradients by the chunk's spikes in the order of step_back.
static void replay(const BackwardCall& call, const Places& places, int64_t count, int64_t start, int64_t end, Columns& columns) {
  const LifNeuron n = call.head.neuron;
  alignas(64) float p[TILE], x_row[TILE];
  call.checkpoints.load(places.checkpoints + start / CHUNK * call.checkpoints.time, count, p, 0.0f);
  const float* __restrict scale = columns.scale;
  const float* __restrict shift = columns.shift;
  for (int64_t t = start; t < end; ++t) {
    if (t + AHEAD < end) call.currents.prefetch<3>(places.currents + (t + AHEAD) * call.currents.time, count);
    if (places.grad_spikes)
      call.grad_spikes.prefetch<2>(places.grad_spikes + (end - 1 - (t - start)) * call.grad_spikes.time, count);
    const float* __restrict x = call.currents.row(places.currents + t * call.currents.time, count, x_row);
    float* __restrict v = columns.potentials[t - start];
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      v[j] = lif_integrate(n, p[j], current_of(x[j], scale[j], shift[j]));
      p[j] = lif_reset(n, v[j], lif_spike(n, v[j]));
    }
  }
}

// e[t], and from it gp[t-1], the gradient by the currents and the sums.
static void step_back(const BackwardCall& call, const Places& places, int64_t count, int64_t t, const float* __restrict v,
                      const Result<LIF_CURRENT>& grad_currents, Columns& columns) {
  static const float zeros[TILE] = {};
  const LifNeuron n = call.head.neuron;
  alignas(64) float x_row[TILE], gs_row[TILE], gv_row[TILE], out_row[TILE];
  const float* gs = zeros;
  const float* gv = zeros;
  const float* x = zeros;
  if (places.grad_spikes) gs = call.grad_spikes.row(places.grad_spikes + t * call.grad_spikes.time, count, gs_row);
  if (LIF_TRACED) gv = call.grad_trace.row(places.grad_trace + t * call.grad_trace.time, count, gv_row);
  if (LIF_MIXED) x = call.currents.row(places.currents + t * call.currents.time, count, x_row);
  LIF_CURRENT* to = places.grad_currents ? places.grad_currents + t * call.grad_currents.time : nullptr;
  float* __restrict out = to ? grad_currents.place(to, out_row) : out_row;
  const bool mixed = (bool)call.mix[0];
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) {
    const float e = lif_error(n, v[j], gs[j], LIF_TRACED ? gv[j] : 0.0f, columns.gp[j]);
    columns.gp[j] = n.decay * e;
    if (LIF_SUMMED) columns.chunk_error[j] += e;
    out[j] = LIF_SCALED || LIF_MIXED ? columns.mix[0][j] * e : e;
    if (LIF_MIXED) {
      const float centered = x[j] - columns.center[j];
      columns.chunk_by_current[j] += e * centered;
      if (mixed) out[j] = (out[j] + columns.mix[1][j] * centered) + columns.mix[2][j];
    }
  }
  if (to) grad_currents.write(to, count, out);
}

static void backward_tile(const BackwardCall& call, const int64_t* index, int64_t count) {
  const Result<LIF_CURRENT> grad_currents(call.grad_currents, call.head.elements());
  const Places places = {call.currents.at(index), call.grad_spikes.at(index), call.grad_trace.at(index),
                         call.grad_currents.at(index), call.checkpoints.at(index)};
  Columns columns;
  call.grad_final.load(call.grad_final.at(index), count, columns.gp, 0.0f);
  if (LIF_SUMMED) memset(columns.sum_error, 0, sizeof columns.sum_error);
  if (LIF_MIXED) memset(columns.sum_by_current, 0, sizeof columns.sum_by_current);
  if (LIF_SCALED) {
    call.scale.load(call.scale.at(index), count, columns.scale, 1.0f);
    call.shift.load(call.shift.at(index), count, columns.shift, 0.0f);
  }
  if (LIF_SCALED || LIF_MIXED) {
    const Array<const float>& by_error = call.mix[0] ? call.mix[0] : call.scale;
    by_error.load(by_error.at(index), count, columns.mix[0], 1.0f);
  }
  if (LIF_MIXED) {
    call.center.load(call.center.at(index), count, columns.center, 0.0f);
    for (int k = 1; k < 3; ++k) call.mix[k].load(call.mix[k].at(index), count, columns.mix[k], 0.0f);
  }
  for (int64_t chunk = (call.head.steps - 1) / CHUNK; chunk >= 0; --chunk) {
    const int64_t start = chunk * CHUNK, end = start + CHUNK < call.head.steps ? start + CHUNK : call.head.steps;
    replay(call, places, count, start, end, columns);
    if (LIF_SUMMED) memset(columns.chunk_error, 0, sizeof columns.chunk_error);
    if (LIF_MIXED) memset(columns.chunk_by_current, 0, sizeof columns.chunk_by_current);
    for (int64_t t = end - 1; t >= start; --t) {
      // The currents that replay reads next.
      if (start) call.currents.prefetch<2>(places.currents + (start - CHUNK + (end - 1 - t)) * call.currents.time, count);
      if (places.grad_spikes && t - AHEAD >= start)
        call.grad_spikes.prefetch<3>(places.grad_spikes + (t - AHEAD) * call.grad_spikes.time, count);
      step_back(call, places, count, t, columns.potentials[t - start], grad_currents, columns);
    }
    for (int64_t j = 0; j < count; ++j) {
      if (LIF_SUMMED) columns.sum_error[j] += columns.chunk_error[j];
      if (LIF_MIXED) columns.sum_by_current[j] += columns.chunk_by_current[j];
    }
  }
  if (call.grad_state) call.grad_state.store(call.grad_state.at(index), count, columns.gp);
  if (call.sum_error) call.sum_error.store(call.sum_error.at(index), count, columns.sum_error);
  if (call.sum_by_current) call.sum_by_current.store(call.sum_by_current.at(index), count, columns.sum_by_current);
}

extern "C" void lif_backward(const BackwardCall* like, const void* const* addresses) {
  for_every_tile(with_addresses(*like, addresses), TILE, backward_tile);
}

#endif
